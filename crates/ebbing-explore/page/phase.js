// Two tasks with separate heads: the regime of a width, and of wider and narrower ones.

import { PENALTIES, choice, group, penalty, stops, toggle } from "./controls.js";
import { el, number, refill, sentences, significant, table } from "./dom.js";
import { withMarker } from "./figures.js";

/** Widths that the slider reaches, as loads P/N: those of the figure. */
const LOADS = [0.1, 10];
/** Steps of the slider, evenly in the logarithm. */
const STEPS = 200;

/** The pair that the state names. */
const pair = (app) => (app.state.get("phase.pair") ?? "1,2").split(",").map(Number);

/** Two of so many tasks to choose. */
function selects(app, count) {
  const [i, j] = pair(app);
  const select = (now, label, change) => el("select", { "aria-label": label, "data-key": label, onchange: (event) => change(Number(event.target.value)) },
    Array.from({ length: count }, (_, k) => el("option", { value: k + 1, selected: k + 1 === now }, `task ${k + 1}`)));
  const set = (first, second) => {
    app.set({ "phase.pair": `${first},${second}` });
    refill(document.getElementById("pair"), ...selects(app, count));
  };
  return [select(i, "learned first", (v) => set(v, v === j ? i : j)), " then ", select(j, "learned second", (v) => set(v === i ? j : i, v))];
}

export function controls(app) {
  return [
    // The first answer says how many tasks there are.
    group("Two of the tasks", el("p", { id: "pair" }, selects(app, Math.max(...pair(app))))),
    group("Network", el("div", { id: "width" }),
      stops(app, "phase.lambda", PENALTIES, { show: penalty }),
      choice(app, "activation"),
      toggle(app, "phase.representation"),
      el("p", { class: "note" }, "One hidden layer, and a readout for each task.")),
  ];
}

/** Offers as many tasks as there are. */
function offer(app, count) {
  const box = document.getElementById("pair");
  if (Number(box.dataset.count) === count) return;
  box.dataset.count = count;
  refill(box, ...selects(app, count));
}

/** A width that is not the number of examples itself, where the theory has a boundary. */
function legal(width, size) {
  const whole = Math.max(1, Math.round(width));
  return whole === size ? whole + 1 : whole;
}

const units = (width) => `${width} units`;

/** The slider of widths, made anew for other tasks and moved for other widths. */
function widths(app, size, width) {
  const box = document.getElementById("width");
  if (!box) return;
  const at = (n) => Math.round((STEPS * Math.log(size / LOADS[0] / n)) / Math.log(LOADS[1] / LOADS[0]));
  const of = (k) => legal((size / LOADS[0]) * (LOADS[0] / LOADS[1]) ** (k / STEPS), size);
  let input = box.querySelector("input[type=range]");
  if (!input || Number(box.dataset.size) !== size) {
    box.dataset.size = size;
    input = el("input", { type: "range", min: 0, max: STEPS, step: 1, id: "width-slider", "data-key": "phase.width",
      oninput: () => {
        const width = of(Number(input.value));
        input.setAttribute("aria-valuetext", units(width));
        app.set({ "phase.width": width });
      } });
    const exact = el("input", { type: "number", min: 1, step: 1, "aria-label": "your width N", id: "width-exact",
      onchange: () => exact.value && app.set({ "phase.width": legal(Number(exact.value), size) }) });
    box.replaceChildren(el("div", { class: "field" }, el("label", { for: "width-slider" }, "your width N, wide to narrow"), exact, input));
  }
  if (document.activeElement !== input) input.value = at(width);
  const exact = box.querySelector("#width-exact");
  if (document.activeElement !== exact) exact.value = width;
  input.setAttribute("aria-valuetext", units(width));
}

export function show(app, answer) {
  const size = answer.sizes[1];
  offer(app, answer.tasks);
  if (!answer.location) {
    // At first, a width in the middle of the figure's left half.
    queueMicrotask(() => app.set({ "phase.width": legal(size / 2, size) }));
    return [el("p", { class: "note" }, "…")];
  }
  const { width, alpha } = answer.location;
  widths(app, size, width);
  const figure = withMarker(answer.figures[0], "load", alpha, "your width", (load) => app.set({ "phase.width": legal(size / load, size) }));
  return [numbers(answer), ...ruler(answer, size), sentences(answer.sentences), figure, hidden(answer.representation), el("p", { class: "note" }, answer.defined)]
    .filter(Boolean);
}

/** What the two tasks do to the hidden layer, on the inputs of each. */
function hidden(all) {
  if (!all.length) return null;
  const heads = ["inputs of task", "K sim and labels, alignment", "|ΔΦ|²/N", "ΔΦ and labels, alignment"];
  const rows = all.map((r) => [String(r.task), number(r.alignment), number(r.change), number(r.change_alignment)]);
  return table("The hidden layer at your width: the learned part of its kernel, and its change by task 2 (as λ grows)", heads, rows, "hidden");
}

/** A number, or the power of λ that it grows with. */
function grown(power) {
  if (!power) return "–";
  if (power.value === "inf" && power.exponent > 0 && power.coefficient !== "inf") {
    return `${significant(power.coefficient)} ${power.exponent === 0.5 ? "√λ" : `λ^${power.exponent}`}`;
  }
  return significant(power.value);
}

function numbers(answer) {
  const { point } = answer;
  const all = [["regime", answer.regime], ["load P/N", significant(point.alpha)], ["F21, task 1 forgotten", grown(point.f21), point.f21],
    ["G21, normalized test loss of task 1", grown(point.g21), point.g21], ["G22, normalized test loss of task 2", grown(point.g22), point.g22],
    ["|a₂|²/N, readout", grown(point.u22), point.u22]];
  return el("dl", { class: "numbers", "aria-label": `At ${answer.location.width} units` },
    all.map(([name, words, power]) => el("div", {}, el("dt", {}, name), el("dd", { "data-value": power ? String(power.value) : words, "data-name": name.split(",")[0] }, words))));
}

/** All widths in one line, wide to narrow as in the figure, with the regimes and one's own. */
function ruler(answer, size) {
  const critical = answer.critical_load.alpha_c === "inf" ? Infinity : answer.critical_load.alpha_c;
  const part = (load) => Math.min(1, Math.max(0, Math.log(load / LOADS[0]) / Math.log(LOADS[1] / LOADS[0])));
  const edges = [0, part(1), part(critical), 1];
  const parts = [["fixed", "fixed representations", `N > ${size}`], ["over", "overfitting", ""], ["general", "generalization", `N < ${Math.round(size / critical)}`]];
  const spans = parts.map(([kind, name, widths], k) => {
    const span = el("span", { class: kind, title: `${name} ${widths}` }, `${name} ${widths}`);
    span.style.flex = `0 0 ${100 * Math.max(0, edges[k + 1] - edges[k])}%`;
    return span;
  });
  const own = el("i");
  own.style.left = `calc(${100 * part(answer.location.alpha)}% - 1px)`;
  // On a phone there is no room for words in the ruler: they stand below it.
  const key = parts.map(([kind, name, widths], k) => edges[k + 1] > edges[k] && el("span", {}, el("i", { class: kind }), `${name} ${widths}`)).filter(Boolean);
  return [el("div", { class: "ruler", role: "img", "aria-label": `Wide networks to the left: ${answer.location.advice}` }, spans, own),
    el("p", { class: "ruler-key", "aria-hidden": "true" }, key)];
}

/** What the user may ask next: the other penalties. */
export function next(app) {
  return PENALTIES.map((lambda) => ({ "phase.lambda": lambda }));
}
