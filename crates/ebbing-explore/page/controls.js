// Fields that show and change one key of the state.

import { el, significant } from "./dom.js";

let made = 0;

/** What a request declares of a key: label, help, default, words and bounds; of a field that belongs to another, beside its word. */
export function declared(app, key) {
  const own = app.fields.get(key);
  if (!own) throw new Error(`no request declares ${key}`);
  const beside = own.belongs?.words[app.state.get(own.belongs.name) ?? fallback(app, own.belongs.name)];
  return { ...own, ...beside };
}

/** The value that holds where none is given; none where that depends on more. */
export function fallback(app, key) {
  const { default: value, usual, words } = declared(app, key);
  if (value !== null) return String(value);
  const known = words.some(([word]) => word === usual) || (usual !== null && usual !== "" && Number.isFinite(Number(usual)));
  return known ? usual : null;
}

/** Labeled and explained as declared. */
function field({ label, help }, input, output) {
  made += 1;
  input.id = `field-${made}`;
  return el("div", { class: "field", title: help }, el("label", { for: input.id }, label), output ?? null, input);
}

/** A slider over numbers, from the least that is declared (or `from`) to the largest (or as far as it reaches, `to`); `show` says how the value is written. */
export function slider(app, key, { from = 0, to, step = 1, show = significant, disabled = false } = {}) {
  const known = declared(app, key);
  const value = app.state.get(key) ?? fallback(app, key);
  const output = el("output", {}, show(Number(value)));
  const input = el("input", { type: "range", min: known.low ?? from, max: known.high ?? to, step, value, "data-key": key, disabled,
    oninput: () => {
      output.textContent = show(Number(input.value));
      input.setAttribute("aria-valuetext", output.textContent);
      app.set({ [key]: input.value });
    } });
  input.setAttribute("aria-valuetext", output.textContent);
  return field(known, input, output);
}

/** A slider over given stops, words or numbers as the state writes them. */
export function stops(app, key, values, { show, disabled = false }) {
  const now = app.state.get(key) ?? fallback(app, key);
  let at = values.findIndex((v) => String(v) === now);
  // A value between the stops, from an address, is a stop of its own.
  if (at < 0) {
    values = [...values, now].sort((a, b) => Number(a === "inf" ? Infinity : a) - Number(b === "inf" ? Infinity : b));
    at = values.indexOf(now);
  }
  const output = el("output", {}, show(values[at]));
  const input = el("input", { type: "range", min: 0, max: values.length - 1, step: 1, value: at, "data-key": key, disabled,
    oninput: () => {
      const chosen = values[Number(input.value)];
      output.textContent = show(chosen);
      input.setAttribute("aria-valuetext", output.textContent);
      app.set({ [key]: String(chosen) });
    } });
  input.setAttribute("aria-valuetext", output.textContent);
  return field(declared(app, key), input, output);
}

/** A choice of the declared words; `also` says which other keys change with it, `as` is a key with other words for the same. */
export function choice(app, key, { also = () => ({}), as = key } = {}) {
  const known = declared(app, as);
  const usual = fallback(app, as);
  const now = app.state.get(key) ?? usual ?? "";
  const options = known.words.map(([value, meaning]) => [value, meaning ? `${value}: ${meaning}` : value]);
  const input = el("select", { "data-key": key, onchange: () => app.set({ ...also(input.value), [key]: input.value }, true) },
    [...(usual === null ? [["", known.usual ?? "default"]] : []), ...options].map(([value, words]) => el("option", { value, selected: value === now }, words)));
  return field(known, input);
}

/** A number; empty leaves the default. `also` are other keys that change with it; `min` and `max` hold where none are declared. */
export function count(app, key, { min = 0, max, also = {}, step = 1 } = {}) {
  const known = declared(app, key);
  const input = el("input", { type: "number", min: known.low ?? min, max: known.high ?? max, step, placeholder: known.usual ?? fallback(app, key) ?? "none",
    value: app.state.get(key) ?? "", "data-key": key, onchange: () => app.set({ ...also, [key]: input.value }) });
  return field(known, input);
}

/** Anything that is typed: numbers separated by commas, or one that may be inf; empty for the default. */
export function typed(app, key, placeholder = "") {
  const input = el("input", { type: "text", inputmode: "decimal", placeholder: fallback(app, key) || placeholder, value: app.state.get(key) ?? "", "data-key": key,
    onchange: () => app.set({ [key]: input.value.replaceAll(" ", "") }) });
  return field(declared(app, key), input);
}

/** A switch. */
export function toggle(app, key) {
  const input = el("input", { type: "checkbox", checked: app.state.get(key) === "true", "data-key": key,
    onchange: () => app.set({ [key]: input.checked ? "true" : "" }) });
  return field(declared(app, key), input);
}

/** The control that fits the kind of a field. */
export function control(app, key) {
  const { kind, words, default: usual } = declared(app, key);
  if (kind === "switch") return toggle(app, key);
  if (words.length && kind === "word") return choice(app, key);
  if (kind === "count") return count(app, key);
  if (kind === "number" && usual !== "inf") return count(app, key, { step: "any" });
  return typed(app, key);
}

/** Fields that stay folded until the user opens them or one of their keys is set; the page remembers. */
export function folded(app, name, title, keys, ...fields) {
  const open = app.unfolded.get(name) ?? keys.some((key) => app.state.has(key));
  const box = el("details", { open, ontoggle: () => app.unfolded.set(name, box.open) }, el("summary", { "data-focus": name }, title), ...fields);
  return box;
}

/** Fields that belong together. */
export function group(title, ...fields) {
  return el("fieldset", {}, el("legend", {}, title), ...fields.filter(Boolean));
}

/** λ in words. */
export const penalty = (value) => (value === "inf" || Number(value) === Infinity ? "∞" : significant(Number(value)));
/** Penalties that sliders stop at. */
export const PENALTIES = ["0.01", "0.1", "1", "10", "100", "1000", "10000", "100000", "1000000", "inf"];
