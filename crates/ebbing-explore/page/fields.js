// Fields that show and change one key of the state: labels, words, bounds and help are those of the requests.

import { el, hint, significant } from "./dom.js";

let made = 0;

/** What a request declares of a key; of a field that belongs to another, beside its word. */
export function declared(app, key) {
  const own = app.fields.get(key);
  return { ...own, ...own.belongs?.words[app.state.get(own.belongs.name) ?? fallback(app, own.belongs.name)] };
}

/** The value that holds where none is given; none where that depends on more. */
export function fallback(app, key) {
  const { default: value, usual, words } = declared(app, key);
  if (value !== null) return String(value);
  return words.some(([word]) => word === usual) || (usual && Number.isFinite(Number(usual))) ? usual : null;
}

/** Labeled and explained. */
export function field({ label, help }, input, output) {
  made += 1;
  input.id ||= `field-${made}`;
  return el("div", { class: "field", title: help }, el("label", { for: input.id }, label), output, input);
}

/** A control that changes nothing here, and why. */
export function greyed(box, why) {
  if (!why) return box;
  box.classList.add("greyed");
  for (const input of box.querySelectorAll("input, select, button")) input.disabled = true;
  box.append(hint(why));
  return box;
}

/** A slider over given stops, words or numbers as the state writes them; `set` says what a stop changes. */
export function stops(app, key, values, { show, now, set, known = declared(app, key) }) {
  // A value between the stops, from an address, is a stop of its own.
  if (!values.includes(now)) values = [...values, now].sort((a, b) => Number(a === "inf" ? Infinity : a) - Number(b === "inf" ? Infinity : b));
  const output = el("output", {}, show(now));
  const input = el("input", { type: "range", min: 0, max: values.length - 1, value: values.indexOf(now), "aria-valuetext": show(now), "data-key": key, "data-focus": key,
    oninput: () => {
      const chosen = values[Number(input.value)];
      output.textContent = show(chosen);
      input.setAttribute("aria-valuetext", show(chosen));
      app.set(set ? set(chosen) : { [key]: chosen });
    } });
  return field(known, input, output);
}

/** The control that fits the kind of a field; `also` are other keys that change with it. */
export function control(app, key, also = {}) {
  const known = declared(app, key);
  const { kind, words } = known;
  const [now, usual] = [app.state.get(key), fallback(app, key)];
  const attributes = { "data-key": key, "data-focus": key };
  const set = (value) => app.set({ ...also, [key]: value });
  if (kind === "switch") return field(known, el("input", { ...attributes, type: "checkbox", checked: now === "true", onchange: (e) => set(e.target.checked ? "true" : "") }));
  if (kind === "word") {
    const options = [...(usual === null ? [["", known.usual ?? "default"]] : []), ...words.map(([word, meaning]) => [word, meaning ? `${word}: ${meaning}` : word])];
    return field(known, el("select", { ...attributes, onchange: (e) => set(e.target.value) }, options.map(([value, text]) => el("option", { value, selected: value === (now ?? usual ?? "") }, text))));
  }
  const number = kind === "count" || (kind === "number" && usual !== "inf");
  return field(known, el("input", { ...attributes, type: number ? "number" : "text", min: known.low, max: known.high, step: kind === "count" ? 1 : "any", placeholder: known.usual ?? usual ?? "none", value: now ?? "",
    onchange: (e) => set(e.target.value.replaceAll(" ", "")) }));
}

/** Fields that stay folded until the user opens them or one of their keys is set; the page remembers. */
export function folded(app, name, title, keys, ...fields) {
  const box = el("details", { open: app.unfolded.get(name) ?? keys.some((key) => app.state.has(key)), ontoggle: () => app.unfolded.set(name, box.open) }, el("summary", { "data-focus": name }, title), ...fields);
  return box;
}

/** Fields that belong together. */
export const group = (title, ...fields) => el("fieldset", {}, el("legend", {}, title), ...fields);

/** λ in words. */
export const penalty = (value) => (value === "inf" ? "∞" : significant(Number(value)));
/** Penalties that sliders stop at. */
export const PENALTIES = ["0.01", "0.1", "1", "10", "100", "1000", "10000", "100000", "1000000", "inf"];
