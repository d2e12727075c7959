// What can be tried: the order of the tasks, examples kept, the head, the width; and the settings of the theory.

import { PENALTIES, control, declared, fallback, field, folded, greyed, penalty, stops } from "./fields.js";
import { $, called, el, hint, percent, refill } from "./dom.js";

const ELSEWHERE = ["replay", "replay-budget", "features", "at-risk"];
const OF_INPUTS = ["depth", "activation", "bias", "depths", "lambdas", "widths"];
const AMOUNTS = [0, 1, 2, 5, 10, 20, 50, 100];
export const HEADS = [["", "one head, trained on one task after another"], ["nearest-mean", "nearest class mean, in closed form"], ["discriminant", "discriminant, in closed form"], ["ridge", "ridge regression, in closed form"]];

const written = (now, came) => (now.join() === came.join() ? "" : now.join());
const order = (app) => app.state.get("order")?.split(",").map(Number) ?? app.forecast.came;

/** Makes the parts again; what is held by the pointer stays. */
export function show(app) {
  const box = $("try");
  if (!box.children.length) {
    box.append(el("section", { id: "order", class: "part" }, el("h2", {}, "Order of learning"), ...Array.from({ length: 5 }, () => el("p", { class: "skeleton task" }, "\u00a0"))),
      el("section", { id: "more", class: "part" }));
  }
  if (!app.fields.size) return;
  more(app);
  if (app.forecast) list(app);
}

function more(app) {
  const own = app.state.get("page.head");
  const closed = own && `A head in closed form does not forget: ${HEADS.find(([kind]) => kind === own)?.[1].split(",")[0] ?? own} learns every task exactly.`;
  const alone = app.forecast?.answer.forecast.tasks.length === 1 && "One task alone forgets nothing.";
  const features = app.state.has("features");
  refill($("more"), el("h2", {}, "Try"), greyed(kept(app), closed || alone), greyed(head(app), headless(app)), greyed(width(app), features && "Features are given as they are: they have no width."),
    settings(app, features));
}

function kept(app) {
  const points = app.points ?? AMOUNTS.map((per_class) => ({ per_class }));
  const show = (n) => {
    const point = points.find((p) => String(p.per_class) === n && p.accuracy !== undefined);
    return n === "0" ? "none" : `${n} of each class${point ? ` · ${percent(point.accuracy)} %` : ""}`;
  };
  const set = (n) => ({ replay: n === "0" ? "" : n, "replay-budget": n === "0" ? "" : "per-class" });
  return stops(app, "replay", points.map((p) => String(p.per_class)), { show, set, now: app.state.get("replay") ?? "0", known: { label: "Examples kept", help: declared(app, "replay").help } });
}

const headless = (app) => app.whole && !app.whole.answer.forecast.heads && !app.state.has("page.head") && "Heads in closed form are computed where targets name classes and that costs little.";

function head(app) {
  const known = app.whole?.answer.forecast.heads?.heads.map((h) => h.kind) ?? HEADS.map(([kind]) => kind);
  const input = el("select", { id: "head", "data-focus": "head", onchange: () => app.look({ "page.head": input.value }) },
    HEADS.filter(([kind]) => !kind || known.includes(kind)).map(([kind, words]) => el("option", { value: kind, selected: kind === (app.state.get("page.head") ?? "") }, words)));
  return field({ label: "Head", help: "What the answer above is about" }, input);
}

function width(app) {
  const input = el("input", { type: "number", min: 1, step: 1, id: "width", placeholder: "units", value: app.state.get("phase.width") ?? "", "data-key": "phase.width", "data-focus": "phase.width",
    onchange: () => app.look({ "phase.width": input.value }) });
  const box = field({ label: "Width", help: declared(app, "phase.width").help }, input);
  box.append(hint("Changes only “Is my network wide enough?”: the other forecasts are for wide networks."));
  return box;
}

function settings(app, features) {
  const gibbs = app.state.get("mode") === "gibbs";
  const own = {
    mode: () => control(app, "mode", { lambda: "" }),
    lambda: () => greyed(stops(app, "lambda", PENALTIES, { show: penalty, now: app.state.get("lambda") ?? fallback(app, "lambda") }), !gibbs && "A penalty belongs to mode gibbs."),
  };
  const all = [...app.fields.values()].filter(({ name, group }) => !group && !name.includes(".") && !ELSEWHERE.includes(name)).map(({ name }) => name);
  return folded(app, "theory", "Theory settings", all, hint("These change the theory folded under each question, not the forecast above: that is by the theory which came closest to trained networks. Another nonlinearity or biases were not measured."),
    ...all.map((key) => greyed(own[key]?.() ?? control(app, key), features && OF_INPUTS.includes(key) && "Features are given as they are.")));
}

function list(app) {
  const box = $("order");
  if (box.querySelector(".held")) return;
  const now = order(app);
  const { came } = app.forecast;
  const { forecast } = app.forecast.answer;
  const names = new Map(app.forecast.order.map((task, place) => [task, called(forecast.tasks, place)]));
  const after = forecast.trained?.accuracy.mean;
  const lost = new Map(after ? app.forecast.order.map((task, s) => [task, s + 1 < after.length ? Math.round(100 * (after.at(-1)[s] - after[s][s])) : null]) : []);
  const closed = app.state.get("page.head");
  const items = now.map((task, place) => item(app, now, came, place, names.get(task) ?? `Task ${task}`, lost.get(task)));
  const why = closed ? "A head in closed form does not depend on the order." : "Points lost by the end. Drag, or press the arrow keys on a name.";
  refill(box, el("h2", {}, "Order of learning"), el("ol", { class: "order", "aria-label": "Tasks in the order in which they are learned" }, items),
    now.length > 1 ? el("p", { class: "buttons" },
      el("button", { id: "given", "data-focus": "given", "data-else": `task ${came[0]}`, disabled: !written(now, came), onclick: () => set(app, came) }, "Original order")) : null,
    hint(why));
  if (closed) for (const button of box.querySelectorAll("button")) button.disabled = true;
}

function set(app, now) {
  app.set({ order: written(now, app.forecast.came) });
  list(app);
}

function item(app, now, came, place, name, lost) {
  const task = now[place];
  const move = (to) => {
    if (to < 0 || to >= now.length) return;
    const next = now.filter((t) => t !== task);
    next.splice(to, 0, task);
    set(app, next);
  };
  const label = `${name}, learned as number ${place + 1} of ${now.length}; arrow keys move it`;
  const handle = el("button", { class: "name", "data-task": task, "data-focus": `task ${task}`, title: name, "aria-label": label,
    onkeydown: (event) => {
      const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
      if (!step) return;
      event.preventDefault();
      move(place + step);
    },
    onpointerdown: (event) => drag(app, event, now, came, task) }, el("span", { class: "place" }, String(place + 1)), el("span", { class: "words" }, name), el("i", {}, lost === null ? "last" : lost === undefined ? "" : String(lost).replace("-", "−")));
  const arrow = (sign, words, disabled, to) => el("button", { class: "move", disabled, "aria-label": words, "data-focus": words, "data-else": `task ${task}`, onclick: () => move(to) }, sign);
  return el("li", { "data-place": place + 1 }, handle, arrow("↑", `Learn ${name} earlier`, place === 0, place - 1), arrow("↓", `Learn ${name} later`, place === now.length - 1, place + 1));
}

function drag(app, event, now, came, task) {
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
    [...items.children].forEach((li, k) => { li.querySelector(".place").textContent = String(k + 1); });
    app.set({ order: written(current, came) });
  };
  const end = (e) => {
    if (e.pointerId !== event.pointerId) return;
    for (const [name, f] of listening) window.removeEventListener(name, f);
    held.classList.remove("held");
    app.held = false;
    app.rest();
    list(app);
  };
  const listening = [["pointermove", move], ["pointerup", end], ["pointercancel", end]];
  for (const [name, f] of listening) window.addEventListener(name, f);
  app.held = true;
}
