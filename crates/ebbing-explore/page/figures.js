// Figures of the report on the page, with a crosshair and values under the pointer, or by the arrow keys.

import { el, significant } from "./dom.js";

const SVG = "http://www.w3.org/2000/svg";

function mark(tag, attributes) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

/** Where a value lies between the ends of an axis. */
function share(axis, value) {
  return axis.log ? Math.log(value / axis.low) / Math.log(axis.high / axis.low) : (value - axis.low) / (axis.high - axis.low);
}

function valueAt(axis, part) {
  return axis.log ? axis.low * (axis.high / axis.low) ** part : axis.low + part * (axis.high - axis.low);
}

const xOf = (panel, value) => panel.frame[0] + share(panel.x, value) * (panel.frame[2] - panel.frame[0]);
const yOf = (panel, value) => panel.frame[3] - share(panel.y, value) * (panel.frame[3] - panel.frame[1]);

/** All places at which a panel has values along x, ascending. */
function places(panel) {
  return [...new Set(panel.series.flatMap((s) => s.x))].filter((x) => x !== null).sort((a, b) => a - b);
}

/** The figure of an element. */
const drawings = new WeakMap();

/** One figure: the drawing, its crosshair, its caption. */
class Drawn {
  constructor(figure) {
    this.figure = figure;
    this.panels = figure.panels;
    // Until it is drawn, an empty place of the same size.
    const [, width, height] = figure.svg.match(/viewBox="0 0 ([\d.]+) ([\d.]+)"/) ?? [0, 1, 1];
    this.place = el("div", { class: "place", "aria-hidden": "true" });
    this.place.style.aspectRatio = `${width} / ${height}`;
    this.tip = el("div", { class: "tip", role: "status", hidden: true });
    this.card = el("div", { class: "card" }, this.place, this.tip);
    const caption = el("figcaption");
    // The caption is made by the report from its own words.
    caption.innerHTML = figure.caption;
    this.root = el("figure", { "data-figure": figure.name }, this.card, caption);
    drawings.set(this.root, this);
  }

  /** Puts the drawing in its place, once. */
  draw() {
    if (this.svg) return this;
    const drawing = document.createElement("template");
    drawing.innerHTML = this.figure.svg;
    this.svg = drawing.content.querySelector("svg");
    this.svg.setAttribute("tabindex", "0");
    this.svg.setAttribute("aria-label", this.figure.finding);
    this.svg.setAttribute("aria-roledescription", "figure, arrow keys read values");
    this.marks = mark("g", {});
    this.svg.append(this.marks);
    this.place.replaceWith(this.svg);
    this.svg.addEventListener("pointermove", (event) => this.point(event));
    this.svg.addEventListener("pointerleave", () => this.clear());
    this.svg.addEventListener("keydown", (event) => this.key(event));
    this.svg.addEventListener("blur", () => this.clear());
    return this;
  }

  /** The point of the drawing under the pointer. */
  at(event) {
    const box = this.svg.getBoundingClientRect();
    const view = this.svg.viewBox.baseVal;
    return [((event.clientX - box.left) / box.width) * view.width, ((event.clientY - box.top) / box.height) * view.height];
  }

  panelAt(x, y) {
    return this.panels.find((p) => x >= p.frame[0] - 2 && x <= p.frame[2] + 2 && y >= p.frame[1] - 2 && y <= p.frame[3] + 2);
  }

  point(event) {
    const [x, y] = this.at(event);
    const panel = this.panelAt(x, y);
    if (!panel) return this.clear();
    if (panel.cells) {
      const [left, top, right, bottom] = panel.frame;
      const { rows, columns } = panel.cells;
      const clip = (k, n) => Math.min(n - 1, Math.max(0, k));
      return this.cell(panel, clip(Math.floor(((y - top) / (bottom - top)) * rows.length), rows.length),
        clip(Math.floor(((x - left) / (right - left)) * columns.length), columns.length));
    }
    const value = valueAt(panel.x, (x - panel.frame[0]) / (panel.frame[2] - panel.frame[0]));
    const all = places(panel);
    if (!all.length) return this.clear();
    const near = (a) => Math.abs(share(panel.x, a) - share(panel.x, value));
    return this.cross(panel, all.reduce((best, a) => (near(a) < near(best) ? a : best)));
  }

  cell(panel, row, column) {
    const { name, rows, columns, values } = panel.cells;
    const value = values[row][column];
    if (value === null) return this.clear();
    const [left, top, right, bottom] = panel.frame;
    const [w, h] = [(right - left) / columns.length, (bottom - top) / rows.length];
    this.marks.replaceChildren(mark("rect", { class: "cell", x: left + column * w, y: top + row * h, width: w, height: h }));
    this.say(left + (column + 1) * w, top + row * h, `${name} ${significant(value)}\n${panel.y.name} ${rows[row]}, ${panel.x.name} ${columns[column]}`);
    this.now = { panel, row, column };
    return undefined;
  }

  cross(panel, x) {
    const lines = [];
    const px = xOf(panel, x);
    const marks = [mark("line", { class: "cross", x1: px, x2: px, y1: panel.frame[1], y2: panel.frame[3] })];
    for (const s of panel.series) {
      const k = s.x.findIndex((v) => v !== null && Math.abs(v - x) <= 1e-9 * Math.abs(x));
      if (k < 0 || s.y[k] === null) continue;
      lines.push(`${s.label || panel.y.name} ${significant(s.y[k])}`);
      const py = yOf(panel, s.y[k]);
      if (py >= panel.frame[1] - 1 && py <= panel.frame[3] + 1) {
        marks.push(mark("line", { class: "cross", x1: panel.frame[0], x2: panel.frame[2], y1: py, y2: py }));
      }
    }
    this.marks.replaceChildren(...marks);
    this.say(px, panel.frame[1], [`${panel.x.name} ${significant(x)}`, ...lines].join("\n"));
    this.now = { panel, x };
  }

  /** Shows words beside a point of the drawing. */
  say(x, y, text) {
    const view = this.svg.viewBox.baseVal;
    const [box, card] = [this.svg.getBoundingClientRect(), this.card.getBoundingClientRect()];
    this.tip.textContent = text;
    this.tip.hidden = false;
    const left = box.left - card.left + (x / view.width) * box.width + 8;
    const room = card.width - this.tip.offsetWidth - 4;
    this.tip.style.left = `${Math.max(0, left <= room ? left : left - this.tip.offsetWidth - 16)}px`;
    this.tip.style.top = `${box.top - card.top + (y / view.height) * box.height}px`;
  }

  clear() {
    this.marks.replaceChildren();
    this.tip.hidden = true;
  }

  /** Arrow keys: along a curve or over cells; page keys from panel to panel. */
  key(event) {
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    const turn = { PageDown: 1, PageUp: -1 }[event.key];
    if (!step && !turn) return;
    event.preventDefault();
    const panel = this.now?.panel ?? this.panels[0];
    const next = this.panels[(this.panels.indexOf(panel) + (turn ?? 0) + this.panels.length) % this.panels.length];
    if (next.cells) {
      const clip = (k, n) => Math.min(n - 1, Math.max(0, k));
      const from = !turn && this.now?.row !== undefined ? this.now : { row: 0, column: 0 };
      const [down, right] = step ?? [0, 0];
      this.now = { panel: next, row: clip(from.row + down, next.cells.rows.length), column: clip(from.column + right, next.cells.columns.length) };
      this.cell(next, this.now.row, this.now.column);
      return;
    }
    const all = places(next);
    const k = !turn && this.now?.x !== undefined ? all.indexOf(this.now.x) + (step?.[1] ?? 0) : 0;
    if (all.length) this.cross(next, all[Math.min(all.length - 1, Math.max(0, k))]);
  }
}

/** Figures as elements, empty until `put` draws them. */
export function figures(all) {
  return all.map((figure) => new Drawn(figure).root);
}

const kind = (part) => part.dataset.figure ?? part.querySelector("table")?.dataset.table ?? part.tagName;
const draw = (part) => drawings.get(part)?.draw();

function inView(part) {
  const { top, bottom } = part.getBoundingClientRect();
  return top < window.innerHeight && bottom > 0;
}

/** Puts the parts that `make` makes in place of the last result's: those that the user sees at once; returns what does the others. */
export function put(box, make) {
  const old = [...box.children];
  // Asked before anything changes, while the last layout holds: another one would take longer than all else.
  const seen = new Set([...old.keys()].filter((k) => inView(old[k])));
  const parts = make();
  if (old.length !== parts.length || old.some((part, k) => kind(part) !== kind(parts[k]))) {
    box.replaceChildren(...parts);
    parts.filter(inView).forEach(draw);
    return () => parts.forEach(draw);
  }
  const replace = (some) => some.forEach((k) => {
    draw(parts[k]);
    old[k].replaceWith(parts[k]);
  });
  replace([...seen]);
  return () => replace([...parts.keys()].filter((k) => !seen.has(k)));
}

/** A figure whose panels along `axis` have a marker, called `label`, that can be dragged; `moved` hears the values. */
export function withMarker(figure, axis, value, label, moved) {
  const drawn = new Drawn(figure).draw();
  const panels = drawn.panels.filter((panel) => panel.x.name.startsWith(axis));
  const group = mark("g", {});
  drawn.svg.append(group);
  drawn.card.classList.add("draggable");
  const place = (at) => {
    const marks = panels.map((panel) => {
      const x = Math.min(panel.frame[2], Math.max(panel.frame[0], xOf(panel, at)));
      const y = panel.frame[1];
      // Beside the grip, above the curves; at the right end to its left.
      const left = x > panel.frame[2] - 45;
      const words = mark("text", { class: "own-name", x: left ? x - 6 : x + 6, y: y - 1, "text-anchor": left ? "end" : "start" });
      words.textContent = label;
      return [mark("line", { class: "own", x1: x, x2: x, y1: y, y2: panel.frame[3] }),
        mark("path", { class: "grip", d: `M${x - 4} ${y - 5}h8l-4 6z` }), words];
    });
    group.replaceChildren(...marks.flat());
  };
  place(value);
  const near = (event) => {
    const [x, y] = drawn.at(event);
    const panel = drawn.panelAt(x, Math.max(y, 0)) ?? panels.find((p) => x >= p.frame[0] && x <= p.frame[2] && y >= p.frame[1] - 8 && y <= p.frame[3]);
    return panel && panels.includes(panel) && Math.abs(xOf(panel, value) - x) < 7 ? panel : null;
  };
  drawn.svg.addEventListener("pointermove", (event) => drawn.card.classList.toggle("near", Boolean(near(event))));
  drawn.svg.addEventListener("pointerdown", (event) => {
    const panel = near(event);
    if (!panel) return;
    event.preventDefault();
    // The figure is drawn anew while it is dragged: the window hears the pointer, and its geometry stays.
    const move = (e) => {
      if (e.pointerId !== event.pointerId) return;
      const part = (drawn.geometry(e)[0] - panel.frame[0]) / (panel.frame[2] - panel.frame[0]);
      const at = valueAt(panel.x, Math.min(1, Math.max(0, part)));
      place(at);
      moved(at);
    };
    const box = drawn.svg.getBoundingClientRect();
    const view = drawn.svg.viewBox.baseVal;
    const [width, height] = [view.width, view.height];
    drawn.geometry = (e) => [((e.clientX - box.left) / box.width) * width, ((e.clientY - box.top) / box.height) * height];
    const end = (e) => {
      if (e.pointerId !== event.pointerId) return;
      window.removeEventListener("pointermove", move);
      window.removeEventListener("pointerup", end);
      window.removeEventListener("pointercancel", end);
    };
    window.addEventListener("pointermove", move);
    window.addEventListener("pointerup", end);
    // A finger that scrolls the page, or a second one, takes the marker away.
    window.addEventListener("pointercancel", end);
  });
  return drawn.root;
}
