// Elements, numbers and tables.

/** An element with attributes (on… are listeners, the others as they are written) and children. */
export function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

/** A line of small print. */
export const hint = (words, id) => el("p", { class: "hint", id }, words);

export const $ = (id) => document.getElementById(id);

/** Sentences that the program has made HTML, and safe whatever names they hold. */
export function said(tag, html, attributes = {}) {
  const made = el(tag, attributes);
  made.innerHTML = Array.isArray(html) ? html.join(" ") : html;
  return made;
}

/** Fills a box anew. What had the focus in it has it again, by its `data-focus`; where it cannot, what its `data-else` names. */
export function refill(box, ...children) {
  const held = box.contains(document.activeElement) ? document.activeElement.dataset : {};
  box.replaceChildren(...children.flat().filter(Boolean));
  const named = (name) => name && [...box.querySelectorAll("[data-focus]")].find((e) => e.dataset.focus === name);
  const same = named(held.focus);
  (same?.disabled === false || !held.else ? same : named(held.else))?.focus();
}

/** Three significant digits, as the reports have them. */
export function significant(value) {
  if (value === null || value === undefined) return "–";
  if (value === "inf" || value === Infinity) return "∞";
  if (typeof value !== "number" || Number.isNaN(value)) return String(value);
  const size = Math.abs(value);
  // Zero within the accuracy of what is computed here.
  if (size < 1e-12) return "0";
  const text = size >= 1e5 || size < 1e-3 ? value.toExponential(2) : size >= 1000 ? value.toFixed(0) : value.toPrecision(3);
  return text.replaceAll("-", "−").replace("e+", "e");
}

/** A share in per cent, without digits that no range carries. */
export const percent = (share) => String(Math.round(100 * share) || 0).replace("-", "−");
export const between = ([low, high]) => `${percent(low)} to ${percent(high)}`;

/** Bytes as people say them. */
export const size = (b) => (b < 1e3 ? `${b} bytes` : b < 1e6 ? `${Math.round(b / 1e3)} kB` : b < 1e9 ? `${Math.round(b / 1e6)} MB` : `${(b / 1e9).toFixed(1)} GB`);

/** Its own name, or its number. */
export const called = (names, s) => (names[s] ? names[s].replace(/^task (\d+)$/, "Task $1") : `Task ${s + 1}`);

/** At most so many letters. */
export const short = (name, most) => (name.length > most ? `${name.slice(0, most - 1)}…` : name);
