// The tasks: where they come from, what is in them, what they look like.

import { choice, count, declared, fallback, folded, group, slider, toggle } from "./controls.js";
import { el, significant, table } from "./dom.js";

/** Steps of the sliders of shares, which reach from 0 to 1. */
const SHARES = { to: 1, step: 0.01 };
/** Keys of the views that number the tasks or go by their sizes. */
const OF_TASKS = ["phase.pair", "phase.width"];

/** Names of fields with a property. */
const named = (app, which) => [...app.fields.values()].filter((field) => !field.name.includes(".") && which(field)).map(({ name }) => name);
/** Keys that say which tasks there are: those that requests declare under headings of their own. */
const ofTasks = (app) => named(app, ({ group }) => group);
const ofProtocols = (app) => named(app, ({ belongs }) => belongs?.name === "protocol");

export function controls(app) {
  const own = app.state.get("tasks");
  const protocol = app.state.get("protocol") ?? fallback(app, "protocol");
  if (!own) return [origin(app), drawing(app, protocol), ratios(app, protocol), preparation(app, false)].filter(Boolean);
  const seed = group("What is drawn", count(app, "seed"));
  // A recipe has its own preparation of inputs.
  return own.toLowerCase().endsWith(".toml") ? [origin(app), seed] : [origin(app), preparation(app, true), seed];
}

/** A data set, or a file of one's own. */
function origin(app) {
  const own = app.state.get("tasks");
  const now = own ? `file ${own}` : `data ${app.state.get("data") ?? "mnist-sample"}`;
  const options = [
    ...app.origins.data.map(({ name, title }) => [`data ${name}`, title]),
    ...app.origins.files.map((name) => [`file ${name}`, name]),
  ];
  const select = el("select", { id: "origin", "data-focus": "origin", "aria-label": "Where the tasks come from", onchange: () => {
    const [kind, ...rest] = select.value.split(" ");
    const name = rest.join(" ");
    const cleared = Object.fromEntries([...ofTasks(app), ...OF_TASKS].map((key) => [key, ""]));
    app.set(kind === "file" ? { ...cleared, tasks: name } : { ...cleared, data: name, protocol: "permuted", examples: "300", "test-examples": "200" }, true);
  } }, options.map(([value, words]) => el("option", { value, selected: value === now }, words)));
  const input = el("input", { type: "file", id: "file", "data-focus": "file", accept: ".npz,.csv,.tsv,.toml", onchange: () => input.files.length && app.take([...input.files]) });
  return group("Where tasks come from", el("p", {}, select),
    el("p", {}, el("label", { for: "file" }, "Your own tasks (.npz, .csv) or a recipe (.toml): choose a file or drop it on the page "), input));
}

function drawing(app, protocol) {
  // Another number of tasks has other orders and pairs; another protocol has other keys.
  const numbered = { order: "", "phase.pair": "" };
  const others = Object.fromEntries([...ofProtocols(app), "length"].map((key) => [key, ""]));
  const chosen = choice(app, "protocol", { also: () => ({ ...others, ...numbered }) });
  return group("How they are drawn", chosen,
    protocol === "partial-split" ? null : count(app, "length", { min: 1, max: 50, also: numbered }),
    count(app, "examples", { min: 2, max: 5000 }),
    count(app, "test-examples", { min: 0, max: 5000 }),
    count(app, "seed"));
}

/** What belongs to the protocol: shares on sliders, everything else as it is declared. */
function ratios(app, protocol) {
  const keys = ofProtocols(app).filter((key) => protocol in app.fields.get(key).belongs.words);
  const kind = { number: (key) => slider(app, key, SHARES), count: (key) => count(app, key, { min: 1 }), switch: (key) => toggle(app, key) };
  return keys.length ? group("Of this protocol", ...keys.map((key) => kind[declared(app, key).kind](key))) : null;
}

/** Images of a data set are prepared unless turned off, your own inputs only as requested. */
function preparation(app, own) {
  const keys = own ? ["whiten", "norm"] : ["no-whiten", "no-norm"];
  const prepared = ["center", ...keys, "context", "intermediate"];
  return folded(app, "preparation", "More: preparation, context, data sets in between", prepared,
    group("Preparation of inputs", choice(app, "center"), ...keys.map((key) => toggle(app, key))),
    group("Steps afterwards",
      count(app, "context", { min: 1, max: 1000 }),
      count(app, "intermediate", { min: 1, max: 20, also: { order: "", "phase.pair": "" } })));
}

export function show(app, answer) {
  return [
    ...answer.problems.map((sentence) => el("p", { class: "bad" }, sentence)),
    ...answer.warnings.map((sentence) => el("p", { class: "note" }, sentence)),
    el("div", { class: "tasks" }, answer.tasks.map(task)),
    ...(answer.common ? [el("p", { class: "note", id: "common" }, answer.common)] : []),
    ...answer.notes.map((sentence) => el("p", { class: "note" }, sentence)),
    table("What would be computed, and what it would cost on this machine", ["command", "time", "memory", "what"],
      answer.computations.map((c) => (c.refused
        ? [c.command, "–", "–", el("td", { class: "wrap" }, c.refused)]
        : [c.command, el("td", { class: "n" }, c.time), el("td", { class: "n" }, c.memory), el("td", { class: "wrap" }, c.what)])), "costs"),
  ];
}

function task({ summary, images }, t) {
  return el("article", { class: "task" }, el("h2", {}, `Task ${t + 1}${summary.name && summary.name !== `task ${t + 1}` ? `: ${summary.name}` : ""}`),
    images ? el("div", { class: "thumbs" }, images.examples.map((image) => thumb(image, images.side, t))) : el("p", { class: "note" }, "Inputs are no square images."),
    el("p", {}, `${summary.p} examples, ${summary.p_test} for testing, ${summary.dim} inputs`),
    el("p", { "data-counts": t + 1 }, targets(summary.targets)));
}

function targets(columns) {
  const answer = columns.map((column) => (column.values
    ? column.values.map(([value, n]) => `${n} × ${significant(value)}`).join(", ")
    : `${significant(column.range[0])} … ${significant(column.range[1])}`));
  return answer.length === 1 ? `targets: ${answer[0]}` : `${answer.length} target columns, the first: ${answer[0]}`;
}

function thumb({ pixels, target }, side, t) {
  const words = target.length === 1 ? significant(target[0]) : `column ${target.indexOf(Math.max(...target)) + 1}`;
  const canvas = el("canvas", { width: side, height: side, role: "img", "aria-label": `An example of task ${t + 1} as the task sees it, target ${words}` });
  const context = canvas.getContext("2d");
  const image = context.createImageData(side, side);
  for (let k = 0; k < side * side; k += 1) {
    const gray = Number.parseInt(pixels.slice(2 * k, 2 * k + 2), 16);
    image.data.set([gray, gray, gray, 255], 4 * k);
  }
  context.putImageData(image, 0, 0);
  return canvas;
}
