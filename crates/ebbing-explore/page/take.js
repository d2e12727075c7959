// Export: files to download, and the lines that compute the same numbers.

import { made } from "./api.js";
import { el } from "./dom.js";

const NAMES = { forecast: "Forecast", phase: "Phase", advise: "What to do" };

export function controls() {
  return [el("p", { class: "note" }, "The address of this page holds its whole state: reload it, keep it, or send it to somebody who runs ebbing explore.")];
}

/** Words that can be copied, with the button that does. */
function lines(app, box, label) {
  const button = el("button", { "aria-label": `Copy ${label}`, onclick: async () => {
    try {
      await navigator.clipboard.writeText(box.textContent);
      button.textContent = "Copied";
      app.status(`Copied ${label}.`);
    } catch {
      // Refused, or a browser without a clipboard.
      getSelection().selectAllChildren(box);
      app.status("The browser does not allow copying. The text is selected: copy it with the keyboard.");
    }
  } }, "Copy");
  return [box, button];
}

/** How long a file that was made is kept for the browser to save it. */
const SAVING = 60000;

/** Saves a file; if that fails the page says why, which a plain link would not. */
async function save(app, { href, download }) {
  app.problem();
  app.status(el("progress", { "aria-label": "making" }), ` preparing ${download} …`);
  try {
    const address = URL.createObjectURL(await made(href));
    el("a", { href: address, download }).click();
    setTimeout(() => URL.revokeObjectURL(address), SAVING);
  } catch (error) {
    app.problem(error.message);
  }
  app.status();
}

/** A command line that breaks between its words only. */
const words = (line) => line.split(" ").flatMap((word, k) => [k ? " " : "", el("span", { class: "word" }, word)]);

export function show(app, answer) {
  const click = (event) => {
    event.preventDefault();
    save(app, event.currentTarget);
  };
  const link = (command, file) => el("a", { href: `/take/${command}/${file}?${app.address()}`, download: `${command}-${file}`, onclick: click }, file);
  return answer.commands.flatMap(({ command, line, python, files }) => [
    el("h2", {}, NAMES[command]),
    el("p", { class: "files" }, files.map((file) => link(command, file))),
    ...lines(app, el("pre", { "data-line": command, tabindex: "0", "aria-label": `Command line of ${NAMES[command]}` }, words(line)), `the command line of ${NAMES[command]}`),
    ...lines(app, el("pre", { "data-python": command, tabindex: "0", "aria-label": `Python lines of ${NAMES[command]}` }, python), `the Python lines of ${NAMES[command]}`),
  ]);
}
