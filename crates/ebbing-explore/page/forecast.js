// The forecast, with tasks that can be dragged into another order.

import { PENALTIES, choice, control, declared, folded, group, penalty, slider, stops, typed } from "./controls.js";
import { el, matrix, number, refill, sentences, table } from "./dom.js";
import { figures } from "./figures.js";

/** Keys of comparisons beside a forecast. */
const BESIDE = { depths: "2,5", lambdas: "1,100,inf", widths: "50,500" };
/** How far the slider of depths reaches. */
const DEEPEST = 10;
/** Fields of a forecast that the views of replay show. */
const REPLAY = ["replay", "replay-budget", "replay-selection"];

/** The order that the page shows: the state's, or the original one. */
function order(app, answer) {
  const written = app.state.get("order");
  return written ? written.split(",").map(Number) : answer.came;
}

/** An order as the state writes it. */
const written = (now, answer) => (now.join() === answer.came.join() ? "" : now.join());

export function controls(app) {
  const gibbs = app.state.get("mode") === "gibbs";
  // What a request declares of the network stands in its order; these three have controls of their own.
  const first = {
    depth: () => slider(app, "depth", { from: 1, to: DEEPEST, show: String }),
    mode: () => choice(app, "mode", { also: (value) => (value === "gibbs" ? {} : { lambda: "" }) }),
    lambda: () => stops(app, "lambda", PENALTIES, { show: penalty, disabled: !gibbs }),
  };
  const network = [...app.fields.values()].map(({ name, group }) => (group || name.includes(".") ? "" : name))
    .filter((name) => name && !(name in BESIDE) && !REPLAY.includes(name));
  const words = network.filter((key) => key in first || declared(app, key).kind === "word");
  const more = network.filter((key) => !words.includes(key));
  return [
    el("fieldset", { id: "order" }, el("legend", {}, "Order of the tasks")),
    group("Network",
      ...words.map((key) => first[key]?.() ?? control(app, key))),
    folded(app, "network", "More of the network", more, group("Prior, temperature, ridge", ...more.map((key) => control(app, key)))),
    folded(app, "beside", "Compare other depths, penalties, widths", Object.keys(BESIDE),
      group("Numbers separated by commas", ...Object.entries(BESIDE).map(([key, example]) => typed(app, key, example))),
      el("p", { class: "note" }, "With these, every order is computed anew.")),
  ];
}

/** The list of tasks: drag, buttons or arrow keys. */
function list(app, answer) {
  const now = order(app, answer);
  // In a forecast tasks are named by their position; here each keeps its original number.
  const names = new Map(answer.order.map((task, place) => [task, answer.forecast.tasks[place]]));
  const items = now.map((task, place) => item(app, answer, now, place, names.get(task)));
  // If it does not come with every forecast, it is searched on request.
  const best = answer.best ? answer.best.join() !== now.join() : now.length > 1;
  const box = document.getElementById("order");
  if (!box || box.querySelector(".held")) return;
  const why = "Best order searches for the order that forgets least; forecasts rank orders only roughly.";
  // A disabled button cannot keep the focus.
  const after = { "data-else": `task ${now[0]}` };
  refill(box, el("legend", {}, "Order of the tasks"),
    el("ol", { class: "order", "aria-label": "Tasks in the order in which they are learned" }, items),
    el("button", { id: "best", "data-focus": "best", ...after, disabled: !best, onclick: () => (answer.best ? set(app, answer, answer.best) : search(app, answer)) }, "Best order"), " ",
    el("button", { id: "given", "data-focus": "given", ...after, disabled: !written(now, answer), onclick: () => set(app, answer, answer.came) }, "Original order"),
    ...(answer.best || now.length < 2 ? [] : [el("p", { class: "note" }, why)]),
    el("p", { class: "note" }, "Drag a task, use its arrows, or press the arrow keys on its name. Below, tasks are numbered in this order."));
}

/** Searches for the best order; the next change cancels the search. */
async function search(app, answer) {
  const found = await app.beside("best");
  if (!found) return;
  if (found.order.join() === order(app, answer).join()) app.status("No better order was found.");
  else set(app, answer, found.order);
}

function set(app, answer, now) {
  app.set({ order: written(now, answer) });
  list(app, answer);
}

function item(app, answer, now, place, name) {
  const task = now[place];
  const words = name && name !== `task ${task}` ? `Task ${task}: ${name}` : `Task ${task}`;
  const move = (to) => {
    if (to < 0 || to >= now.length) return;
    const next = now.filter((t) => t !== task);
    next.splice(to, 0, task);
    set(app, answer, next);
  };
  const handle = el("button", { class: "name", "data-task": task, "data-focus": `task ${task}`, title: words,
    "aria-label": `${words}, learned as number ${place + 1} of ${now.length}; arrow keys move it`,
    onkeydown: (event) => {
      const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
      if (!step) return;
      event.preventDefault();
      move(place + step);
    },
    onpointerdown: (event) => drag(app, answer, event, now, task) }, words);
  return el("li", { "data-place": place + 1 }, el("span", { class: "place" }, `${place + 1}.`), handle,
    arrow("↑", `Learn task ${task} earlier`, task, place === 0, () => move(place - 1)),
    arrow("↓", `Learn task ${task} later`, task, place === now.length - 1, () => move(place + 1)));
}

function arrow(sign, words, task, disabled, onclick) {
  return el("button", { class: "move", disabled, "aria-label": words, "data-focus": words, "data-else": `task ${task}`, onclick }, sign);
}

/** Follows the pointer with one task; everything else follows at once. */
function drag(app, answer, event, now, task) {
  if (event.button) return;
  const items = event.target.closest("ol");
  const held = event.target.closest("li");
  held.classList.add("held");
  let current = now;
  const move = (e) => {
    if (e.pointerId !== event.pointerId) return;
    const boxes = [...items.children].map((li) => li.getBoundingClientRect());
    const to = boxes.filter((box) => e.clientY > box.top + box.height / 2).length;
    const from = current.indexOf(task);
    const place = Math.min(current.length - 1, Math.max(0, to > from ? to - 1 : to));
    if (place === from) return;
    const next = current.filter((t) => t !== task);
    next.splice(place, 0, task);
    current = next;
    const rest = [...items.children].filter((li) => li !== held);
    items.replaceChildren(...rest.slice(0, place), held, ...rest.slice(place));
    [...items.children].forEach((li, k) => { li.querySelector(".place").textContent = `${k + 1}.`; });
    app.set({ order: written(current, answer) });
  };
  const end = (e) => {
    if (e.pointerId !== event.pointerId) return;
    window.removeEventListener("pointermove", move);
    window.removeEventListener("pointerup", end);
    window.removeEventListener("pointercancel", end);
    held.classList.remove("held");
    list(app, app.answer.forecast);
  };
  window.addEventListener("pointermove", move);
  window.addEventListener("pointerup", end);
  window.addEventListener("pointercancel", end);
}

export function show(app, answer) {
  list(app, answer);
  const { forecast } = answer;
  const shown = [sentences(answer.sentences), ...figures(answer.figures),
    matrix("Forecast forgetting: loss on training data (0: remembered, 1: as bad as answering 0)", forecast.forgetting.mean, "forgetting")];
  if (forecast.test?.accuracy) shown.push(matrix("Test accuracy", forecast.test.accuracy.mean, "accuracy", false));
  if (forecast.pairs.length) shown.push(pairs(forecast.pairs));
  shown.push(...beside(forecast));
  shown.push(el("p", { class: "note" }, answer.assumes));
  return shown;
}

/** Forecasts at other depths, penalties and widths, if requested. */
function beside({ depths, lambdas = [], widths = [] }) {
  const cells = (row) => [number(row.final_forgetting), number(row.accuracy ?? null)];
  const failed = (row) => (row.why ? [el("td", { colspan: 2, class: "wrap" }, row.why)] : cells(row));
  const heads = ["forgetting of earlier tasks", "accuracy"];
  return [
    depths.length && table("Other depths", ["hidden layers", heads[0], "F₂₁"], depths.map((row) => [String(row.depth), number(row.final_forgetting), number(row.f21)]), "depths"),
    lambdas.length && table("Other penalties, all weights learning", ["λ", ...heads], lambdas.map((row) => [penalty(row.lambda), ...failed(row)]), "lambdas"),
    widths.length && table("Other widths, separate heads", ["N", "λ", ...heads], widths.map((row) => [String(row.width), penalty(row.lambda), ...failed(row)]), "widths"),
  ].filter(Boolean);
}

function pairs(all) {
  const heads = ["pair", "γ RF", "γ rule", "conflict", "F pair", "γ feature", "γ sim"];
  const rows = all.map((p) => [`${p.first}→${p.second}`, ...["gamma_rf", "gamma_rule", "conflict", "f21", "gamma_feature", "gamma_sim"].map((key) => number(p.values[key]))]);
  return table("Order parameters of all ordered pairs", heads, rows, "pairs");
}

/** What the user may ask next: the other penalties. */
export function next(app) {
  return app.state.get("mode") === "gibbs" ? PENALTIES.map((lambda) => ({ lambda })) : [];
}
