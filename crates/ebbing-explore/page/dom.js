// Elements, numbers and tables.

/** An element with attributes (on… are listeners, data and aria as they are written) and children. */
export function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
}

/**
 * Fills a box anew. What had the focus in it has it again, by its `data-focus` or `data-key`; where it cannot, what its
 * `data-else` names.
 */
export function refill(box, ...children) {
  const held = box.contains(document.activeElement) ? document.activeElement.dataset : {};
  box.replaceChildren(...children);
  const named = (name) => name && [...box.querySelectorAll("[data-focus], [data-key]")].find((e) => (e.dataset.focus ?? e.dataset.key) === name);
  const same = named(held.focus ?? held.key);
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

/** A cell that shows a number and carries it whole. */
export function number(value) {
  return el("td", { class: "n", "data-value": value === null || value === undefined ? "" : String(value) }, significant(value));
}

/** A table with a caption; rows are lists of cells or of words, and the first word is the row's head. */
export function table(caption, heads, rows, name) {
  const cell = (c, k) => (c instanceof Node ? c : k ? el("td", {}, String(c)) : rowHead(String(c)));
  const numeric = (k) => rows.some((row) => row[k] instanceof Node && row[k].classList.contains("n"));
  const head = heads.map((h, k) => el("th", { scope: "col", class: k > 0 && numeric(k) ? "n" : null }, h));
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    el("table", { "data-table": name },
      el("caption", {}, caption),
      el("thead", {}, el("tr", {}, head)),
      el("tbody", {}, rows.map((row) => el("tr", {}, row.map(cell))))));
}

/** The head of a row; one that is `long` breaks between its words. */
export function rowHead(words, long = false) {
  return el("th", { scope: "row", class: long ? "wrap" : null }, words);
}

/** A matrix of tasks: after each task downwards, on each task to the right. */
export function matrix(caption, values, name, learned = true) {
  const heads = ["after task", ...values[0].map((_, s) => `on ${s + 1}`)];
  const rows = values.map((row, t) => [String(t + 1), ...row.map((v, s) => (learned && s > t ? el("td") : number(v)))]);
  return table(caption, heads, rows, name);
}

/** Sentences as a list; the report has made them HTML, and safe whatever names they hold. */
export function sentences(all) {
  return el("ul", { class: "answer" }, all.map((sentence) => {
    const item = el("li");
    item.innerHTML = sentence;
    return item;
  }));
}
