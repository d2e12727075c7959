// What is taken along: the link, the pictures, the data, the lines that compute the same elsewhere, the report.

import { made } from "./api.js";
import { $, el, hint, refill } from "./dom.js";
import { pixels, saved } from "./figures.js";

const NAMES = { forecast: "Forecast", advise: "What helps", phase: "Width" };
const SAVING = 60000;

async function save(app, name, making) {
  app.problem();
  try {
    const address = URL.createObjectURL(await making());
    el("a", { href: address, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(address), SAVING);
    app.say(`Saved ${name}.`);
  } catch (error) {
    $("share").close();
    app.problem(error.message);
  }
}

function copy(app, box, label) {
  const button = el("button", { "aria-label": `Copy ${label}`, onclick: async () => {
    try {
      await navigator.clipboard.writeText(box.textContent);
      button.textContent = "Copied";
      app.say(`Copied ${label}.`);
    } catch {
      // Refused, or a browser without a clipboard.
      getSelection().selectAllChildren(box);
      app.say("The browser does not allow copying. The text is selected: copy it with the keyboard.");
    }
  } }, "Copy");
  return el("div", { class: "copied" }, box, button);
}

/** The two ways in which a figure is saved. */
export function pictures(app, drawn) {
  const png = () => save(app, `ebbing-${drawn.name}.png`, () => pixels(drawn));
  const svg = () => save(app, `ebbing-${drawn.name}.svg`, async () => new Blob([saved(drawn).svg], { type: "image/svg+xml" }));
  return el("span", { class: "save" }, el("button", { "aria-label": `Save ${drawn.name} as SVG`, onclick: svg }, "SVG"), el("button", { "aria-label": `Save ${drawn.name} as PNG`, onclick: png }, "PNG"));
}

export function open(app) {
  const sheet = $("share");
  const all = { forecast: app.whole ?? app.forecast, advise: app.advise, phase: app.phase };
  const part = ([command, result]) => {
    const address = command === "phase" ? app.phaseAddress() : app.state.write(false);
    const link = (file) => el("a", { href: `/take/${command}/${file}?${address}`, download: `${command}-${file}`, onclick: (event) => {
      event.preventDefault();
      save(app, `${command}-${file}`, () => made(`/take/${command}/${file}?${address}`));
    } }, file);
    return el("section", {}, el("h3", {}, NAMES[command]), el("p", { class: "files" }, result.files.map(link)),
      copy(app, el("pre", { "data-line": command, tabindex: "0", "aria-label": `Command of ${NAMES[command]}` }, result.command), `the command of ${NAMES[command]}`),
      copy(app, el("pre", { "data-python": command, tabindex: "0", "aria-label": `Python of ${NAMES[command]}` }, result.python), `the Python lines of ${NAMES[command]}`));
  };
  const file = app.state.get("tasks") ?? app.state.get("features");
  refill(sheet, el("header", {}, el("h2", { id: "share-title" }, "Share"), el("button", { class: "close", "aria-label": "Close", onclick: () => sheet.close() }, "×")),
    el("div", { class: "body one" }, el("section", {}, el("h3", {}, "Link"), hint(`The address holds the whole state, for whoever runs ebbing explore.${file ? ` They need the file ${file} too: the page asks for it.` : ""}`),
      copy(app, el("pre", { id: "link", tabindex: "0", "aria-label": "Link" }, location.href), "the link")),
      el("section", {}, el("h3", {}, "Picture and print"), hint("Every figure has SVG and PNG below it, with its finding as the title."), el("p", {}, el("button", { onclick: () => { sheet.close(); print(); } }, "Print the answer and three charts on one page"))),
      ...Object.entries(all).filter(([, result]) => result).map(part)));
  sheet.showModal();
}
