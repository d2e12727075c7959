// The page: its state, which the address holds, and the views that show it.

import { Newest, ask, sendFile, start } from "./api.js";
import { el, refill } from "./dom.js";
import { put } from "./figures.js";
import * as tasks from "./tasks.js";
import * as forecast from "./forecast.js";
import * as phase from "./phase.js";
import * as advise from "./advise.js";
import * as take from "./take.js";

const views = { tasks, forecast, phase, advise, take };
const $ = (id) => document.getElementById(id);
/** After so long without a move, what the user may ask next is computed ahead. */
const IDLE = 700;
/** So long after an answer what is in view has been painted. */
const PAINTED = 80;
/** A result that is older than the settings is marked after so long: quick answers do not flicker. */
const LATE = 250;

const app = {
  state: new Map(),
  origins: { data: [], files: [] },
  largest: 0,
  /** What the program declares of every key, by its name in the address. */
  fields: new Map(),
  answer: {},
  /** What the user has folded and unfolded. */
  unfolded: new Map(),
  /** Shows what is left of the last result. */
  rest() {},

  get view() {
    return this.state.get("view") ?? "forecast";
  },

  /** The state as addresses and requests write it. */
  address() {
    const query = new URLSearchParams();
    for (const [key, value] of this.state) query.append(key, value);
    // Readable: these stand for themselves in a fragment.
    return query.toString().replaceAll("%2C", ",").replaceAll("%3A", ":");
  },

  /** Changes keys (an empty value leaves the default) and asks for what follows; `anew` makes the controls again. */
  set(changes, anew = false) {
    for (const [key, value] of Object.entries(changes)) {
      if (value === "" || value === null || value === undefined) this.state.delete(key);
      else this.state.set(key, String(value));
    }
    history.replaceState(null, "", `#${this.address()}`);
    if (anew) this.controls();
    this.ask();
  },

  /** Another address. */
  load(address) {
    this.state = new Map(new URLSearchParams(address));
  },

  controls() {
    const view = this.view;
    for (const tab of document.querySelectorAll("[role=tab]")) {
      const open = tab.dataset.view === view;
      tab.setAttribute("aria-selected", String(open));
      tab.tabIndex = open ? 0 : -1;
    }
    const labeled = `tab-${view}`;
    // Another view's result says nothing here.
    if ($("panel").getAttribute("aria-labelledby") !== labeled) $("result").replaceChildren();
    $("panel").setAttribute("aria-labelledby", labeled);
    refill($("controls"), ...views[view].controls(this));
  },

  open(view) {
    this.set({ view }, true);
  },

  ask() {
    this.moved();
    this.problem();
    const result = $("result");
    result.setAttribute("aria-busy", "true");
    clearTimeout(this.late);
    this.late = setTimeout(() => result.classList.add("old"), LATE);
    newest.send(this.view, this.address());
  },

  /** The user has moved on: what is computed ahead or beside is left. */
  moved() {
    clearTimeout(this.idle);
    this.ahead?.abort();
    this.side?.abort();
    this.side = null;
  },

  /** The result is that of the settings, or will not be. */
  answered(old) {
    clearTimeout(this.late);
    $("result").removeAttribute("aria-busy");
    $("result").classList.toggle("old", old);
  },

  /** Asks for something beside the view; the next move leaves it. */
  async beside(what) {
    this.moved();
    const side = new AbortController();
    this.side = side;
    try {
      const answer = await ask(what, this.address(), { signal: side.signal, progress: (step) => newest.progress(step), as: "-beside" });
      this.status();
      return answer.result;
    } catch (error) {
      if (error.name === "AbortError") return null;
      this.status();
      this.problem(error.message);
      return null;
    } finally {
      if (this.side === side) this.side = null;
    }
  },

  problem(sentence) {
    $("problem").textContent = sentence ?? "";
    $("problem").hidden = !sentence;
  },

  status(...content) {
    $("status").replaceChildren(...content);
  },

  /** Computes what the user may ask next while nothing is asked. */
  lookAhead() {
    const list = views[this.view].next?.(this) ?? [];
    if (!list.length || this.side) return;
    this.idle = setTimeout(async () => {
      this.ahead = new AbortController();
      const { signal } = this.ahead;
      const said = $("status").textContent;
      for (const [k, changes] of list.entries()) {
        // Not for screen readers, which would hear it ten times.
        app.status(said, el("span", { "aria-hidden": "true" }, `; computing ahead, ${k + 1} of ${list.length}`));
        const query = new URLSearchParams(this.address());
        for (const [key, value] of Object.entries(changes)) query.set(key, value);
        try {
          await ask(this.view, query.toString(), { signal, as: "-ahead" });
        } catch (error) {
          // A refusal is shown when the user asks for it; the others can still be computed.
          if (error.name === "AbortError") return;
        }
      }
      app.status(said);
      document.body.dataset.ahead = this.address();
    }, IDLE);
  },
};

const newest = new Newest({
  progress(step) {
    app.status(el("progress", { "aria-label": "computing" }), ` ${step} …`);
  },
  done(view, asked, answer, milliseconds) {
    app.answer[view] = answer.result;
    if (view !== app.view) return;
    if (answer.result.heading) $("heading").textContent = answer.result.heading;
    const begin = performance.now();
    clearTimeout(app.later);
    if (!this.next) app.answered(false);
    app.rest = put($("result"), () => views[view].show(app, answer.result));
    document.body.dataset.building = (performance.now() - begin).toFixed(1);
    app.status(`computed in ${Math.round(answer.milliseconds)} ms`);
    document.body.dataset.milliseconds = milliseconds.toFixed(1);
    document.body.dataset.server = answer.milliseconds.toFixed(1);
    document.body.dispatchEvent(new CustomEvent("shown"));
    // What lies out of view follows when what is in view has been painted, and the user does not move on at once.
    app.later = setTimeout(() => {
      app.rest();
      document.body.dataset.shown = asked;
      document.body.dispatchEvent(new CustomEvent("drawn"));
    }, PAINTED);
    app.lookAhead();
  },
  failed(asked, sentence) {
    clearTimeout(app.later);
    app.rest();
    app.answered(true);
    app.status();
    app.problem(sentence);
    document.body.dataset.shown = asked;
  },
});

/** Takes the first of the files that were dropped or chosen, and shows its tasks. */
app.take = async ([file, ...others]) => {
  app.status(el("progress", { "aria-label": "reading" }), ` reading ${file.name} …`);
  try {
    const name = await sendFile(file, app.largest);
    app.origins.files = [...new Set([...app.origins.files, name])];
    app.state = new Map([["tasks", name], ["view", "tasks"]]);
    app.set({}, true);
    if (others.length) app.problem(`Only the first of ${others.length + 1} files was read: ${name}.`);
  } catch (error) {
    app.status();
    app.problem(error.message);
  }
};

/** How often the page has begun: of two addresses in quick succession the second counts. */
let begun = 0;

async function begin() {
  begun += 1;
  const own = begun;
  app.load(location.hash.slice(1));
  let answer;
  try {
    answer = await start(app.address());
  } catch (error) {
    if (own === begun) app.problem(error.message);
    return;
  }
  if (own !== begun) return;
  app.origins = answer.origins;
  app.largest = answer.largest;
  app.fields = new Map(answer.fields.map((field) => [field.name, field]));
  const empty = [...app.state.keys()].every((key) => key === "view");
  if (answer.refused || empty) {
    const view = answer.refused ? null : app.state.get("view");
    app.load(answer.first);
    if (view) app.state.set("view", view);
  }
  app.set({}, true);
  // Said after the default has been asked for, which clears what was said before.
  if (answer.refused) app.problem(`${answer.refused} The page shows its initial state instead.`);
}

for (const tab of document.querySelectorAll("[role=tab]")) tab.addEventListener("click", () => app.open(tab.dataset.view));
$("tabs").addEventListener("keydown", (event) => {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  const all = [...document.querySelectorAll("[role=tab]")];
  const next = all[(all.findIndex((tab) => tab.dataset.view === app.view) + step + all.length) % all.length];
  app.open(next.dataset.view);
  next.focus();
});
$("skip").addEventListener("click", (event) => {
  event.preventDefault();
  $("main").focus();
});
window.addEventListener("hashchange", begin);
let depth = 0;
window.addEventListener("dragenter", (event) => {
  if (![...(event.dataTransfer?.types ?? [])].includes("Files")) return;
  depth += 1;
  $("drop").hidden = false;
});
window.addEventListener("dragleave", () => {
  depth = Math.max(0, depth - 1);
  $("drop").hidden = depth === 0;
});
window.addEventListener("dragover", (event) => event.preventDefault());
window.addEventListener("drop", (event) => {
  event.preventDefault();
  depth = 0;
  $("drop").hidden = true;
  const files = [...(event.dataTransfer?.files ?? [])];
  if (files.length) app.take(files);
});
let width = window.innerWidth;
window.addEventListener("resize", () => {
  if ((width < 700) !== (window.innerWidth < 700)) app.ask();
  width = window.innerWidth;
});
begin();
