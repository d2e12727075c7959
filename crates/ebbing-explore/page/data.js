// The sheet of data: one's own files, known sets, protocols as pictures, what the tasks hold and look like.

import { control, declared, folded, group } from "./fields.js";
import { $, called, el, hint, refill, significant } from "./dom.js";

const OF_TASKS = ["phase.pair", "phase.width", "replay", "replay-budget", "page.head", "classes-per-task", "features", "tasks"];
const RENUMBERED = { order: "", "phase.pair": "" };
const NOT_FOLDED = ["tasks", "features", "data", "protocol", "length", "examples", "test-examples", "seed", "order", "classes-per-task"];
const PICTURES = {
  "class-incremental": ["12", "34", "56"],
  permuted: ["▚▞", "▞▚", "▙▜"],
  split: ["1|2", "3|4", "5|6"],
  "partial-split": ["●●○", "○○●"],
  "target-distractor": ["★▪▪", "★▫▫"],
};

const named = (app, which) => [...app.fields.values()].filter((f) => !f.name.includes(".") && which(f)).map(({ name }) => name);
const ofTasks = (app) => named(app, ({ group: heading }) => heading);
const ofProtocols = (app) => named(app, ({ belongs }) => belongs?.name === "protocol");
const cleared = (app) => Object.fromEntries([...ofTasks(app), ...OF_TASKS].map((key) => [key, ""]));

const perTask = (classes) => Math.max(1, Math.ceil(classes / (classes > 20 ? 10 : 5)));

/** The state of a file: one set of several classes is features, divided into tasks. */
export function ofFile(app, { name, classes }, as) {
  const key = as ?? (classes ? "features" : "tasks");
  return { ...cleared(app), [key]: name, "classes-per-task": classes ? perTask(classes) : "" };
}

export function open(app) {
  const sheet = $("data");
  fill(app);
  if (!sheet.open) sheet.showModal();
  app.check();
}

/** Makes the sheet again, where it is open. */
export function fill(app) {
  const sheet = $("data");
  const file = app.state.get("tasks") ?? app.state.get("features");
  const protocol = app.state.get("protocol") ?? "class-incremental";
  const recipe = file?.toLowerCase().endsWith(".toml");
  refill(sheet, el("header", {}, el("h2", { id: "data-title" }, "Data"), el("button", { class: "close", "aria-label": "Close", "data-focus": "close", onclick: () => sheet.close() }, "×")),
    el("div", { class: "body" }, el("div", { class: "settings" }, origin(app, file),
      file ? ofOwn(app, file, recipe) : protocols(app, protocol), fields(app, file, recipe, protocol)), el("div", { id: "held" }, holds(app))));
}

function origin(app, file) {
  const now = file ? `file ${file}` : `data ${app.state.get("data") ?? "mnist-sample"}`;
  const options = [...app.origins.data.map(({ name, title }) => [`data ${name}`, title]), ...app.origins.files.map(({ name }) => [`file ${name}`, name])];
  const select = el("select", { id: "origin", "data-focus": "origin", "aria-label": "Where the tasks come from", onchange: () => {
    const [kind, name] = [select.value.slice(0, 4), select.value.slice(5)];
    app.set(kind === "file" ? ofFile(app, app.origins.files.find((f) => f.name === name)) : { ...cleared(app), data: name, protocol: "class-incremental", length: "5" });
  } }, options.map(([value, words]) => el("option", { value, selected: value === now }, words)));
  const input = el("input", { type: "file", id: "file", "data-focus": "file", accept: ".npz,.mat,.csv,.tsv,.toml", onchange: () => input.files.length && app.take([...input.files]) });
  return group("Where tasks come from", el("p", {}, select),
    el("p", {}, el("label", { for: "file" }, "Or your own: tasks, or features with their classes (.npz, .mat, .csv), or a recipe (.toml). Choose a file, or drop it anywhere. "), input));
}

function ofOwn(app, file, recipe) {
  const features = app.state.has("features");
  const known = app.origins.files.find((f) => f.name === file);
  const kind = recipe ? null : el("p", {}, ["tasks", "features"].map((key) => el("label", { class: "radio" },
    el("input", { type: "radio", name: "kind", "data-focus": `kind ${key}`, checked: features === (key === "features"), onchange: () => app.set(ofFile(app, known ?? { name: file }, key)) }),
    key === "features" ? "features: a head alone learns" : "inputs: a network learns them")));
  return group("What it is", kind, recipe ? null : control(app, "classes-per-task", RENUMBERED), control(app, "seed"));
}

function protocols(app, now) {
  const numbered = Object.fromEntries([...ofProtocols(app), "length", "order", "phase.pair"].map((key) => [key, ""]));
  const { words } = declared(app, "protocol");
  const card = ([value, meaning]) => el("button", { class: "card", "aria-pressed": String(value === now), "data-focus": `protocol ${value}`, onclick: () => app.set({ ...numbered, protocol: value }) },
    el("span", { class: "picture", "aria-hidden": "true" }, (PICTURES[value] ?? []).map((row) => el("span", {}, row))), el("b", {}, value.replaceAll("-", " ")), el("span", {}, `${meaning}.`));
  return group("How they are drawn", el("div", { class: "cards" }, words.map(card)));
}

function fields(app, file, recipe, protocol) {
  const drawn = file ? [] : ["length", "examples", "test-examples", "seed"].filter((key) => key !== "length" || protocol !== "partial-split");
  const shares = file ? [] : ofProtocols(app).filter((key) => protocol in app.fields.get(key).belongs.words);
  const rest = recipe || app.state.has("features") ? [] : ofTasks(app).filter((key) => !NOT_FOLDED.includes(key) && !ofProtocols(app).includes(key));
  return [drawn.length ? group("How many", ...drawn.map((key) => control(app, key, key === "length" ? RENUMBERED : {}))) : null,
    shares.length ? group("Of this protocol", ...shares.map((key) => control(app, key))) : null,
    rest.length ? folded(app, "preparation", "More: preparation of inputs, steps afterwards", rest, ...rest.map((key) => control(app, key, key === "intermediate" ? RENUMBERED : {}))) : null];
}

function holds(app) {
  if (app.refusals.data) return [el("p", { class: "bad" }, app.refusals.data)];
  const result = app.data;
  if (!result) return [el("p", { class: "skeleton" }, "\u00a0"), el("p", { class: "skeleton" }, "\u00a0")];
  const { check } = result.answer;
  const most = 12;
  const task = (summary, t) => el("article", { class: "task" }, el("h3", {}, called(check.tasks.map((s) => s.name), t)),
    result.images[t] ? el("div", { class: "thumbs" }, result.images[t].map((image) => thumb(image, `An example of task ${t + 1} as the task sees it`))) : null,
    hint(`${summary.p} examples, ${summary.p_test} for testing, ${summary.dim} ${app.state.has("features") ? "features" : "inputs"}; ${classes(summary.targets)}`));
  return [...check.problems.map((s) => el("p", { class: "bad" }, s)), ...check.warnings.map((s) => hint(s)),
    el("div", { class: "tasks" }, check.tasks.slice(0, most).map(task)),
    check.tasks.length > most ? hint(`The first ${most} of ${check.tasks.length} tasks.`) : null, result.common ? hint(result.common, "common") : null,
    ...check.notes.map((s) => hint(s)),
    ...result.costs.map((c) => hint(`ebbing ${c.command}: ${c.refused ?? `${c.time}, ${c.memory}; ${c.what}`}.`))];
}

/** Shows what the tasks hold, in the open sheet. */
export function show(app) {
  if ($("held")) refill($("held"), ...holds(app));
}

function classes(columns) {
  if (columns.length > 1) {
    const here = columns.map((c, k) => [c.values?.find(([v]) => v === 1)?.[1] ?? 0, k + 1]).filter(([n]) => n);
    return here.length ? `${here.length} of ${columns.length} classes, ${[...new Set(here.map(([n]) => n))].join(" or ")} examples each` : `${columns.length} target columns`;
  }
  const [column] = columns;
  return column.values ? `targets ${column.values.map(([value, n]) => `${n} × ${significant(value)}`).join(", ")}` : `targets ${significant(column.range[0])} … ${significant(column.range[1])}`;
}

/** An image as the task sees it: gray levels, two hexadecimal digits each. */
export function thumb({ side, pixels }, words) {
  const canvas = el("canvas", { width: side, height: side, role: "img", "aria-label": words });
  const context = canvas.getContext("2d");
  const image = context.createImageData(side, side);
  for (let k = 0; k < side * side; k += 1) {
    const gray = Number.parseInt(pixels.slice(2 * k, 2 * k + 2), 16);
    image.data.set([gray, gray, gray, 255], 4 * k);
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

