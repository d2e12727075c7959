// What can be taken along.

import { el } from "./dom.js";

const NAMES = { forecast: "Forecast", phase: "Phase", advise: "What to do" };

export function controls() {
  return [el("p", { class: "note" }, "The address of this page holds its whole state: reload it, keep it, or send it to somebody who runs ebbing explore.")];
}

function copy(text, label) {
  const button = el("button", { "aria-label": `Copy ${label}`, onclick: async () => {
    await navigator.clipboard?.writeText(text);
    button.textContent = "Copied";
  } }, "Copy");
  return button;
}

/** A command line that breaks between its words only. */
const words = (line) => line.split(" ").flatMap((word, k) => [k ? " " : "", el("span", { class: "word" }, word)]);

export function show(app, told) {
  const link = (command, file) => el("a", { href: `/take/${command}/${file}?${app.address()}`, download: `${command}-${file}` }, file);
  return told.commands.flatMap(({ command, line, python, files }) => [
    el("h2", {}, NAMES[command]),
    el("p", { class: "files" }, files.map((file) => link(command, file))),
    el("pre", { "data-line": command, tabindex: "0", "aria-label": `Command line of ${NAMES[command]}` }, words(line)), copy(line, "the command line"),
    el("pre", { "data-python": command, tabindex: "0", "aria-label": `Python lines of ${NAMES[command]}` }, python), copy(python, "the Python lines"),
  ]);
}
