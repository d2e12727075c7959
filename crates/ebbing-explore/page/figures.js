// Figures as SVG in the colors of the page: drawn at the width that there is, read by the pointer or the arrow keys, saved as they are.

import { el } from "./dom.js";

const safe = (words) => String(words).replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);

export const text = (x, y, words, look = "", anchor = "start") => `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" class="${look}" text-anchor="${anchor}">${safe(words)}</text>`;
export const line = (x1, y1, x2, y2, look = "rule") => `<line x1="${x1.toFixed(1)}" y1="${y1.toFixed(1)}" x2="${x2.toFixed(1)}" y2="${y2.toFixed(1)}" class="${look}"/>`;
export const path = (points, look) => (points.length ? `<polyline points="${points.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" ")}" class="${look}"/>` : "");
export const dot = (x, y, r, look) => `<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="${r}" class="${look}"/>`;
export const box = (x, y, w, h, look, more = "") => `<rect x="${x.toFixed(1)}" y="${y.toFixed(1)}" width="${Math.max(0, w).toFixed(1)}" height="${Math.max(0, h).toFixed(1)}" class="${look}" ${more}/>`;
export const area = (points, look) => `<polygon points="${points.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" ")}" class="${look}"/>`;

/** Where values of an axis lie; `log` counts from 1 on, so that nothing kept has its place. */
export function scale([low, high], [from, to], log = false) {
  const f = log ? (v) => Math.log1p(v) : (v) => v;
  const [a, b] = [f(low), f(high)];
  const at = (v) => from + ((f(v) - a) / (b - a || 1)) * (to - from);
  at.of = (x) => {
    const v = a + ((x - from) / (to - from)) * (b - a);
    return log ? Math.expm1(v) : v;
  };
  return at;
}

/** A figure that is empty until `show` says what it draws: a function of the width, with the height, the drawing and what can be read where. */
export function figure(name) {
  const holder = el("div", { class: "fig skeleton", "data-figure": name });
  const tip = el("div", { class: "tip", hidden: true, "aria-hidden": "true" });
  const heard = el("div", { class: "hidden", "aria-live": "polite" });
  const self = { holder, name, at: -1 };
  let drawn;
  const read = (k) => {
    const point = drawn.points[k];
    if (!point) return;
    self.at = k;
    tip.textContent = point.say;
    tip.hidden = false;
    const left = point.x + 12 + tip.offsetWidth <= drawn.width ? point.x + 12 : point.x - tip.offsetWidth - 12;
    tip.style.left = `${Math.max(0, left)}px`;
    tip.style.top = `${Math.max(0, point.y - tip.offsetHeight - 8)}px`;
    self.svg.querySelector(".mark")?.remove();
    self.svg.insertAdjacentHTML("beforeend", `<circle class="mark" cx="${point.x}" cy="${point.y}" r="8"/>`);
  };
  const clear = () => {
    tip.hidden = true;
    self.svg?.querySelector(".mark")?.remove();
  };
  const place = (event) => {
    const frame = self.svg.getBoundingClientRect();
    return [event.clientX - frame.left, event.clientY - frame.top];
  };
  const nearest = ([x, y]) => drawn.points.reduce((best, p, k) => {
    const away = Math.hypot(p.x - x, p.y - y);
    return away < best[0] ? [away, k] : best;
  }, [40, -1])[1];
  holder.addEventListener("pointermove", (event) => {
    if (!self.svg || self.held) return;
    const k = nearest(place(event));
    if (k < 0) clear();
    else read(k);
  });
  holder.addEventListener("pointerleave", clear);
  holder.addEventListener("focusout", clear);
  holder.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!step || event.target !== self.svg || !drawn.points.length) return;
    event.preventDefault();
    read((self.at + step + drawn.points.length) % drawn.points.length);
    heard.textContent = tip.textContent;
  });
  self.show = (finding, draw) => {
    self.finding = finding;
    self.draw = draw;
    self.again();
  };
  self.again = () => {
    const width = Math.round(holder.clientWidth);
    if (!self.draw || !width) return;
    drawn = { points: [], width, ...self.draw(width) };
    // What had the focus has it again: the drawing, or what lies over it.
    const now = document.activeElement;
    const focus = now === self.svg ? "svg" : holder.contains(now) && `[data-focus="${now.dataset.focus}"]`;
    const template = document.createElement("template");
    template.innerHTML = `<svg viewBox="0 0 ${width} ${drawn.height}" width="${width}" height="${drawn.height}" role="img" tabindex="0">${drawn.body}</svg>`;
    self.svg = template.content.firstChild;
    self.svg.setAttribute("aria-label", self.finding);
    holder.classList.remove("skeleton");
    holder.style.minHeight = "";
    holder.replaceChildren(self.svg, tip, heard, ...(drawn.over ?? []));
    self.at = -1;
    tip.hidden = true;
    if (focus) holder.querySelector(focus)?.focus();
  };
  self.place = place;
  return self;
}

const KEPT = ["fill", "stroke", "stroke-width", "stroke-dasharray", "font-size", "font-weight", "font-family", "fill-opacity", "opacity"];

/** The figure as it stands, with its finding as its title. */
export function saved(self) {
  const [width, height] = [self.svg.viewBox.baseVal.width, self.svg.viewBox.baseVal.height];
  const copy = self.svg.cloneNode(true);
  const [from, to] = [self.svg.querySelectorAll("*"), copy.querySelectorAll("*")];
  from.forEach((e, k) => {
    const style = getComputedStyle(e);
    for (const name of KEPT) to[k].setAttribute(name, style.getPropertyValue(name).replaceAll('"', "'"));
    to[k].removeAttribute("class");
  });
  const page = getComputedStyle(document.body);
  const lines = [];
  for (const word of self.finding.split(" ")) {
    if (lines.length && `${lines.at(-1)} ${word}`.length < width / 8.4) lines[lines.length - 1] += ` ${word}`;
    else lines.push(word);
  }
  const [rim, title] = [16, 22 * lines.length + 8];
  const words = lines.map((words, k) => `<text x="0" y="${16 + 22 * k}" font-size="16" font-weight="650" font-family="${page.fontFamily.replaceAll('"', "'")}" fill="${page.color}">${safe(words)}</text>`);
  const [w, h] = [width + 2 * rim, height + title + 2 * rim];
  return { width: w, height: h, svg: `<svg xmlns="http://www.w3.org/2000/svg" width="${w}" height="${h}" viewBox="${-rim} ${-rim} ${w} ${h}"><title>${safe(self.finding)}</title>` +
    `<rect x="${-rim}" y="${-rim}" width="${w}" height="${h}" fill="${page.backgroundColor}"/>${words.join("")}<g transform="translate(0 ${title})">${copy.innerHTML}</g></svg>` };
}

/** The same as pixels, at twice the size. */
export async function pixels(self) {
  const { svg, width, height } = saved(self);
  const image = new Image();
  image.src = `data:image/svg+xml,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = el("canvas", { width: 2 * width, height: 2 * height });
  canvas.getContext("2d").drawImage(image, 0, 0, 2 * width, 2 * height);
  return new Promise((done) => { canvas.toBlob(done, "image/png"); });
}
