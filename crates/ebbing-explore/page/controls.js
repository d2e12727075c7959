// Fields that show and change one key of the state.

import { el, significant } from "./dom.js";

let made = 0;

function field(label, input, output) {
  made += 1;
  input.id = `field-${made}`;
  return el("div", { class: "field" }, el("label", { for: input.id }, label), output ?? null, input);
}

/** A slider over numbers; `show` says how the value is written. */
export function slider(app, key, label, { min, max, step = 1, fallback, show = significant, disabled = false }) {
  const value = app.state.get(key) ?? String(fallback);
  const output = el("output", {}, show(Number(value)));
  const input = el("input", { type: "range", min, max, step, value, "data-key": key, disabled,
    oninput: () => {
      output.textContent = show(Number(input.value));
      input.setAttribute("aria-valuetext", output.textContent);
      app.set({ [key]: input.value });
    } });
  input.setAttribute("aria-valuetext", output.textContent);
  return field(label, input, output);
}

/** A slider over given stops, words or numbers as the state writes them. */
export function stops(app, key, label, values, { fallback, show, disabled = false }) {
  const now = app.state.get(key) ?? String(fallback);
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
  return field(label, input, output);
}

/** A choice; `also` says which other keys change with it. */
export function choice(app, key, label, options, fallback, also = () => ({})) {
  const now = app.state.get(key) ?? fallback;
  const input = el("select", { "data-key": key, onchange: () => app.set({ ...also(input.value), [key]: input.value }, true) },
    options.map(([value, words]) => el("option", { value, selected: value === now }, words)));
  return field(label, input);
}

/** A whole number; empty leaves the default. `also` are other keys that change with it. */
export function count(app, key, label, { min = 0, max, placeholder = "", also = {} } = {}) {
  const input = el("input", { type: "number", min, max, step: 1, placeholder, value: app.state.get(key) ?? "", "data-key": key,
    onchange: () => app.set({ ...also, [key]: input.value }) });
  return field(label, input);
}

/** Numbers separated by commas; empty for none. */
export function list(app, key, label, placeholder) {
  const input = el("input", { type: "text", inputmode: "decimal", placeholder, value: app.state.get(key) ?? "", "data-key": key,
    onchange: () => app.set({ [key]: input.value.replaceAll(" ", "") }) });
  return field(label, input);
}

/** A switch. */
export function toggle(app, key, label) {
  const input = el("input", { type: "checkbox", checked: app.state.get(key) === "true", "data-key": key,
    onchange: () => app.set({ [key]: input.checked ? "true" : "" }) });
  return field(label, input);
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

/** The nonlinearity of the network. */
export const activation = (app) =>
  choice(app, "activation", "nonlinearity", [["relu", "ReLU"], ["linear", "linear"], ["erf", "erf"], ["gelu", "GELU"]], "relu");

/** λ in words. */
export const penalty = (value) => (value === "inf" || Number(value) === Infinity ? "∞" : significant(Number(value)));
/** Penalties that sliders stop at. */
export const PENALTIES = ["0.01", "0.1", "1", "10", "100", "1000", "10000", "100000", "1000000", "inf"];
