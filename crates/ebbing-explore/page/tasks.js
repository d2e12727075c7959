// The tasks: where they come from, what is in them, what they look like.

import { choice, count, folded, group, slider, toggle } from "./controls.js";
import { el, significant, table } from "./dom.js";

const PROTOCOLS = [
  ["permuted", "permuted pixels"],
  ["split", "split classes"],
  ["partial-split", "partial split"],
  ["target-distractor", "targets and distractors"],
];
/** The keys that belong to a protocol, with how they are set. */
const RATIOS = {
  permuted: [["ratio", "share of pixels shuffled", 1]],
  "partial-split": [["ratio", "split", 0.5]],
  "target-distractor": [["rho-target", "targets shared", 0.5], ["rho-shared", "images shared", 0.5], ["rho-flip", "labels flipped", 0]],
  split: [],
};
const OF_PROTOCOLS = ["ratio", "rho-target", "rho-shared", "rho-flip", "first-unpermuted", "fresh-images", "classes-per-group", "one-hot"];
const OF_DRAWING = ["data", "protocol", "length", "examples", "test-examples", ...OF_PROTOCOLS];
const OF_PREPARATION = ["center", "whiten", "no-whiten", "whiten-ridge", "norm", "no-norm", "context", "intermediate"];
/** All keys that say which tasks there are, and those that number them or go by their sizes. */
const OF_TASKS = ["tasks", ...OF_DRAWING, ...OF_PREPARATION, "seed", "order", "phase.pair", "phase.width"];

export function controls(app) {
  const own = app.state.get("tasks");
  const protocol = app.state.get("protocol") ?? "permuted";
  if (!own) return [origin(app), drawing(app, protocol), ratios(app, protocol), preparation(app, false)].filter(Boolean);
  const seed = (placeholder) => group("What is drawn", count(app, "seed", "seed", { placeholder }));
  // A recipe has its own preparation of inputs.
  return own.toLowerCase().endsWith(".toml") ? [origin(app), seed("the recipe's")] : [origin(app), preparation(app, true), seed("0")];
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
    const cleared = Object.fromEntries(OF_TASKS.map((key) => [key, ""]));
    app.set(kind === "file" ? { ...cleared, tasks: name } : { ...cleared, data: name, protocol: "permuted", examples: "300", "test-examples": "200" }, true);
  } }, options.map(([value, words]) => el("option", { value, selected: value === now }, words)));
  const input = el("input", { type: "file", id: "file", "data-focus": "file", accept: ".npz,.csv,.tsv,.toml", onchange: () => input.files.length && app.take([...input.files]) });
  return group("Where tasks come from", el("p", {}, select),
    el("p", {}, el("label", { for: "file" }, "Your own tasks (.npz, .csv) or a recipe (.toml): choose a file or drop it on the page "), input));
}

function drawing(app, protocol) {
  // Another number of tasks has other orders and pairs; another protocol has other keys.
  const numbered = { order: "", "phase.pair": "" };
  const others = Object.fromEntries([...OF_PROTOCOLS, "length"].map((key) => [key, ""]));
  const chosen = choice(app, "protocol", "protocol", PROTOCOLS, "permuted", () => ({ ...others, ...numbered }));
  return group("How they are drawn", chosen,
    protocol === "partial-split" ? null : count(app, "length", "tasks", { min: 1, max: 50, placeholder: "5", also: numbered }),
    count(app, "examples", "examples per task", { min: 2, max: 5000 }),
    count(app, "test-examples", "test examples", { min: 0, max: 5000 }),
    count(app, "seed", "seed", { placeholder: "0" }));
}

function ratios(app, protocol) {
  const sliders = (RATIOS[protocol] ?? []).map(([key, label, fallback]) => slider(app, key, label, { min: 0, max: 1, step: 0.01, fallback }));
  const more = {
    permuted: () => [toggle(app, "first-unpermuted", "first task unpermuted"), toggle(app, "fresh-images", "different images in every task")],
    split: () => [count(app, "classes-per-group", "classes on either side", { min: 1, max: 5, placeholder: "1" }), toggle(app, "one-hot", "a target column per class")],
  }[protocol]?.() ?? [];
  return sliders.length + more.length ? group("Ratios", ...sliders, ...more) : null;
}

/** Images of a data set are prepared unless turned off, your own inputs only as requested. */
function preparation(app, own) {
  const centers = own
    ? [["", "nothing"], ["image", "each input's mean"], ["pixel", "each entry's mean over the examples"]]
    : [["", "the image's mean"], ["pixel", "each pixel's mean"], ["none", "nothing"]];
  const [whiten, norm] = own
    ? [toggle(app, "whiten", "whiten"), toggle(app, "norm", "scale to squared norm N0")]
    : [toggle(app, "no-whiten", "do not whiten"), toggle(app, "no-norm", "do not scale")];
  return folded(app, "preparation", "More: preparation, context, data sets in between", OF_PREPARATION,
    group("Preparation of inputs", choice(app, "center", "subtract", centers, ""), whiten, norm),
    group("Steps afterwards",
      count(app, "context", "context entries", { min: 1, max: 1000, placeholder: "none" }),
      count(app, "intermediate", "data sets in between (two tasks only)", { min: 1, max: 20, placeholder: "none", also: { order: "", "phase.pair": "" } })));
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
