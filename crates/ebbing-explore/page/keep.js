// How many examples must I keep? The final accuracy against the examples kept of each class, with a target that can be dragged.

import { between, el, percent, size } from "./dom.js";
import { area, dot, line, path, scale, text } from "./figures.js";

const TARGET = 0.8;
/** Keys of the request that holds the target. */
export const GOAL = "advise.keep-accuracy-above";

export const target = (app) => Number(app.state.get(GOAL) ?? TARGET);

/** The least amount computed that reaches a final accuracy. */
export const reaching = (points, accuracy) => points.find((point) => point.accuracy >= accuracy);

const range = (point) => (point.accuracy_interval ? ` (${between(point.accuracy_interval)})` : "");

function needs(points, goal) {
  const found = reaching(points, goal);
  if (!found) return `${percent(goal)} % is out of reach: all ${points.at(-1).per_class} of each class end at ${percent(points.at(-1).accuracy)} %`;
  if (!found.per_class) return `nothing kept ends at ${percent(found.accuracy)} %${range(found)}`;
  return `${found.per_class} of each class: ${percent(found.accuracy)} %${range(found)}, ${size(found.bytes)}`;
}

function draw(app, points, ghost) {
  return (width) => {
    const x = scale([0, points.at(-1).per_class], [40, width - (width < 500 ? 16 : 40)], true);
    const y = scale([0, 100], [236, 30]);
    const goal = target(app);
    let body = "";
    for (const v of [0, 20, 40, 60, 80, 100]) body += line(40, y(v), x(points.at(-1).per_class), y(v), v ? "rule" : "axis") + text(32, y(v) + 4, v, "s", "end");
    const ticks = [0, 1, 10, 100, 1000, 10000].filter((n) => n < 0.7 * points.at(-1).per_class).concat(points.at(-1).per_class);
    for (const n of ticks) body += text(x(n), 254, n, "s", "middle");
    const banded = points.filter((p) => p.accuracy_interval);
    if (banded.length > 1) body += area([...banded.map((p) => [x(p.per_class), y(100 * p.accuracy_interval[1])]), ...banded.toReversed().map((p) => [x(p.per_class), y(100 * p.accuracy_interval[0])])], "band");
    if (ghost) body += path(ghost.filter((p) => p.per_class <= points.at(-1).per_class).map((p) => [x(p.per_class), y(100 * p.accuracy)]), "ghost");
    body += path(points.map((p) => [x(p.per_class), y(100 * p.accuracy)]), "keep");
    for (const p of points) body += dot(x(p.per_class), y(100 * p.accuracy), 3, "keep fill");
    const found = reaching(points, goal);
    body += line(40, y(100 * goal), x(points.at(-1).per_class), y(100 * goal), "goal");
    if (found) body += line(x(found.per_class), y(100 * goal), x(found.per_class), y(0), "goal") + dot(x(found.per_class), y(100 * found.accuracy), 6, "keep fill");
    body += text(44, y(100 * goal) + (goal > 0.93 ? 18 : -8), `at least ${percent(goal)} %`, "b");
    const right = found && x(found.per_class) > width - 260;
    if (found) body += text(x(found.per_class) + (right ? -10 : 10), Math.min(228, y(100 * found.accuracy) + 26), needs(points, goal), "keep b", right ? "end" : "start");
    body += text(x(points.at(-1).per_class), 272, "examples kept of each class", "s", "end") + text(0, 12, "accuracy at the end, %", "s");
    const read = points.map((p) => ({ x: x(p.per_class), y: y(100 * p.accuracy), say: `${p.per_class} of each class (${p.examples} in all, ${size(p.bytes)}): ${percent(p.accuracy)} %${range(p)}` }));
    return { height: 280, body, points: read, over: [handle(app, y, width)] };
  };
}

function handle(app, y, width) {
  const goal = target(app);
  const grip = el("div", { class: "grip", role: "slider", tabindex: "0", "aria-label": "Accuracy to end at", "aria-valuemin": 1, "aria-valuemax": 99,
    "aria-valuenow": percent(goal), "aria-valuetext": `at least ${percent(goal)} %`, "aria-orientation": "vertical", "data-focus": "goal" });
  grip.style.top = `${y(100 * goal)}px`;
  grip.style.left = `${width - 12}px`;
  const set = (value) => app.look({ [GOAL]: String(Math.min(0.99, Math.max(0.01, Math.round(100 * value) / 100))) });
  grip.addEventListener("keydown", (event) => {
    const step = { ArrowUp: 0.01, ArrowRight: 0.01, ArrowDown: -0.01, ArrowLeft: -0.01, PageUp: 0.1, PageDown: -0.1 }[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    set(target(app) + step);
  });
  grip.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    const frame = grip.parentElement.getBoundingClientRect();
    const move = (e) => e.pointerId === event.pointerId && set(y.of(e.clientY - frame.top) / 100);
    const end = (e) => {
      if (e.pointerId !== event.pointerId) return;
      for (const [name, f] of [["pointermove", move], ["pointerup", end], ["pointercancel", end]]) window.removeEventListener(name, f);
    };
    for (const [name, f] of [["pointermove", move], ["pointerup", end], ["pointercancel", end]]) window.addEventListener(name, f);
  });
  return grip;
}

export const question = {
  id: "keep",
  title: "How many examples must I keep?",
  skeleton: 280,
  make(app) {
    const result = app.whole;
    if (!result) return null;
    const { keep, trained } = result.answer.forecast;
    if (!keep) {
      const replay = app.state.get("replay");
      return { lead: replay ? "The forecast above is with examples kept: set “examples kept” back to none to compare amounts." : !trained ? "Without test data of classes there is no accuracy to keep." : "Not computed for tasks as large as these: it would take long. Choose an amount under Try, and the forecast is with it." };
    }
    const ghost = app.ghost?.answer.forecast.keep?.points;
    return { lead: result.said.keep, finding: `To end at ${percent(target(app))} % or more: ${needs(keep.points, target(app))}.`, draw: draw(app, keep.points, ghost),
      cap: `Line: forecast accuracy of trained networks that learn kept examples again with every later task.${keep.points[0].accuracy_interval ? " Band: eight in ten measured networks." : ""} Drag the dashed line to another accuracy.` };
  },
};
