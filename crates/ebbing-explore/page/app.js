// The page: asks for the state that the address holds, shows the first answer at once and what refines it after it.

import { Newest, ask, sendFile, start } from "./api.js";
import { $, el, hint, refill } from "./dom.js";
import { figure } from "./figures.js";
import { State } from "./state.js";
import * as answer from "./answer.js";
import * as attempts from "./try.js";
import * as data from "./data.js";
import * as share from "./share.js";
import { drawing, question as tasks } from "./tasks.js";
import { question as keep } from "./keep.js";
import { question as help } from "./help.js";
import { question as risk } from "./risk.js";
import { question as clash } from "./clash.js";
import { LAMBDA, question as width } from "./width.js";

const QUESTIONS = [tasks, keep, help, risk, clash, width];
const REFINED = [["whole", "forecast"], ["phase", "phase"], ["advise", "advise"]];
const DOING = { whole: "Examples to keep and heads", phase: "Two tasks with a head each", advise: "What else would help" };
const IDLE = 350;
const LATE = 250;
const ONLY = { phase: (key) => key.startsWith("phase."), advise: (key) => key.startsWith("advise.") };

const parts = new Map();

const app = {
  state: new State(),
  origins: { data: [], files: [] },
  largest: 0,
  fields: new Map(),
  refusals: {},
  unfolded: new Map(),
  held: false,

  set(changes) {
    this.begun();
    this.state.set(changes);
    this.ask();
  },

  look(changes) {
    this.begun();
    this.state.set(changes);
    for (const [name, own] of Object.entries(ONLY)) if (Object.keys(changes).some(own)) this.stale(name);
    this.render();
    this.rest();
  },

  begun() {
    if (this.state.moving) return;
    this.ghost = this.forecast && { ...this.forecast, answer: { ...this.forecast.answer, forecast: { ...this.forecast.answer.forecast, keep: this.whole?.answer.forecast.keep } } };
  },

  stale(name) {
    this.old.add(name);
  },

  old: new Set(),

  address() {
    return this.state.write(false);
  },

  phaseAddress() {
    return this.state.write(false, this.state.has("phase.lambda") ? {} : { "phase.lambda": LAMBDA });
  },

  ask() {
    this.stop();
    this.problem();
    this.controls();
    for (const [name] of REFINED) this.stale(name);
    this.busy(true);
    newest.send(this.address());
  },

  stop() {
    clearTimeout(this.idle);
    this.ahead?.abort();
    this.ahead = null;
  },

  busy(yes) {
    document.body.toggleAttribute("aria-busy", yes);
    clearTimeout(this.late);
    if (yes) this.late = setTimeout(() => document.body.classList.add("old"), LATE);
    else document.body.classList.remove("old");
  },

  controls() {
    attempts.show(this);
    if ($("data").open) {
      data.fill(this);
      this.check();
    }
    $("undo").disabled = !this.state.steps;
    $("reset").disabled = !location.hash || this.address() === this.firstState;
    $("compare").textContent = this.state.has("page.compare") ? "End comparing" : "Compare";
  },

  problem(sentence) {
    $("problem").textContent = sentence ?? "";
    $("problem").hidden = !sentence;
  },

  say(words) {
    $("said").textContent = words;
  },

  progress(what, share, since, cancel) {
    const box = $("status");
    if (!what) return box.replaceChildren();
    const seconds = (performance.now() - since) / 1000;
    const left = share > 0.05 && seconds > 0.5 ? (seconds / share) * (1 - share) : 0;
    const words = `${what[0].toUpperCase()}${what.slice(1)}${left >= 1 ? ` · about ${Math.ceil(left)} s` : ""}`;
    if (box.firstChild) {
      box.querySelector("progress").value = share || 0;
      box.querySelector("span").textContent = words;
    } else box.append(el("progress", { "aria-label": "computing", max: 1, value: share || 0 }), el("span", {}, words), el("button", { class: "ghost", "data-focus": "cancel", onclick: cancel }, "Cancel"));
    return undefined;
  },

  render() {
    for (const q of QUESTIONS) draw(q);
    if (this.forecast) {
      answer.show(this, this.forecast, this.ghost);
      // What the tasks are, as the heading has it, without how they are prepared.
      $("open-data").textContent = `${/^Forecast for ([^;:]*)/.exec(this.forecast.heading)?.[1] ?? "Data"}${this.forecast.heading.includes(";") ? ")" : ""} ▾`;
    }
    $("answer").classList.toggle("ghosted", Boolean(this.ghost));
    $("undo").disabled = !this.state.steps;
  },

  rest() {
    clearTimeout(this.idle);
    if (this.held || newest.under) return;
    this.idle = setTimeout(() => {
      this.state.settle();
      this.controls();
      this.say($("headline").textContent);
      document.body.dataset.settled = location.hash.slice(1);
      this.refine();
    }, IDLE);
  },

  async refine() {
    this.stop();
    const ahead = new AbortController();
    this.ahead = ahead;
    for (const [name, question] of REFINED) {
      if (!this.old.has(name) && (this[name] || this.refusals[name])) continue;
      const since = performance.now();
      const cancel = () => {
        this.progress();
        ahead.abort();
        for (const [left] of REFINED) if (this.old.has(left)) this.refusals[left] = "Not computed: it was canceled. The next change computes it.";
        this.render();
      };
      try {
        const address = name === "phase" ? this.phaseAddress() : this.address();
        const found = await ask(question, address, { signal: ahead.signal, as: `-${name}`,
          progress: (step, share) => performance.now() - since > LATE && this.progress(`${DOING[name]}: ${step}`, share, since, cancel) });
        this[name] = found.result;
        delete this.refusals[name];
      } catch (error) {
        if (error.name === "AbortError") return;
        this[name] = null;
        this.refusals[name] = error.message;
      }
      this.old.delete(name);
      if (name === "whole" && this.whole) {
        this.points = this.whole.answer.forecast.keep?.points ?? this.points;
        this.forecast = this.whole;
        attempts.show(this);
      }
      this.progress();
      this.render();
    }
    this.ahead = null;
    document.body.dataset.refined = location.hash.slice(1);
    document.body.dispatchEvent(new CustomEvent("refined"));
  },

  async check() {
    const address = this.address();
    if (this.checked === address && this.data) return data.show(this);
    this.data = null;
    delete this.refusals.data;
    data.show(this);
    try {
      const found = await ask("data", address, { as: "-data" });
      this.data = found.result;
      this.checked = address;
    } catch (error) {
      if (error.name === "AbortError") return undefined;
      this.refusals.data = error.message;
    }
    return data.show(this);
  },

  async compare() {
    const kept = this.state.get("page.compare");
    const box = $("compared");
    box.hidden = kept === undefined;
    if (kept === undefined) return box.replaceChildren();
    let other = this.other?.address === kept ? this.other.result : null;
    if (!other) {
      try {
        other = (await ask("forecast", kept, { as: "-compared", first: true })).result;
      } catch (error) {
        if (error.name !== "AbortError") this.problem(error.message);
        return undefined;
      }
      this.other = { address: kept, result: other };
    }
    const one = (result, name) => {
      const drawn = figure(`compared-${name}`);
      const node = answer.small(result, name);
      node.append(drawn.holder);
      if (result.answer.forecast.trained) queueMicrotask(() => drawn.show(`${name}: ${result.figures[0]?.finding ?? ""}`, drawing(result, null, true)));
      return node;
    };
    return refill(box, one(other, "Kept"), one(this.forecast, "Now"), hint(differences(kept, this.address())));
  },
};

function differences(one, other) {
  const [a, b] = [new URLSearchParams(one), new URLSearchParams(other)];
  const keys = [...new Set([...a.keys(), ...b.keys()])].filter((key) => a.get(key) !== b.get(key));
  const words = keys.map((key) => `${key} ${a.get(key) ?? "as usual"} → ${b.get(key) ?? "as usual"}`);
  return words.length ? `Kept → now: ${words.join("; ")}.` : "The two are the same: change something, and this side follows.";
}

function section(q) {
  const drawn = figure(q.id);
  drawn.holder.style.minHeight = `${q.skeleton}px`;
  const part = { drawn, before: el("div"), lead: el("p", { class: "lead skeleton" }, "\u00a0"), nodes: el("div"), cap: el("p", { class: "cap" }), theory: el("div", { class: "theory" }),
    bar: el("span") };
  part.fold = q.tables ? el("details", { class: "fold", ontoggle: () => unfold(q) }, el("summary", {}, "Theory and numbers"), part.theory) : null;
  part.root = el("section", { id: `q-${q.id}`, class: "question", "aria-labelledby": `t-${q.id}` }, el("h2", { id: `t-${q.id}` }, q.title), part.lead, part.before, part.drawn.holder, part.nodes,
    el("div", { class: "foot" }, part.cap, part.bar), part.fold);
  parts.set(q.id, part);
  return part.root;
}

const html = (lead) => (Array.isArray(lead) ? lead : [lead]).filter(Boolean).join(" ");

function draw(q) {
  const part = parts.get(q.id);
  const made = q.make(app);
  if (!made) return;
  const late = { keep: "whole", risk: "whole", help: "advise", width: "phase" }[q.id];
  part.root.classList.toggle("late", Boolean(late) && app.old.has(late));
  part.lead.classList.remove("skeleton");
  part.lead.innerHTML = html(made.lead);
  part.cap.textContent = made.cap ?? "";
  part.drawn.holder.hidden = !made.draw;
  refill(part.before, made.before ?? []);
  part.nodes.replaceChildren(...(made.nodes ?? []));
  if (made.draw) {
    part.drawn.show(made.finding, made.draw);
    if (!part.bar.firstChild) part.bar.append(share.pictures(app, part.drawn));
  }
  part.bar.hidden = !made.draw;
  unfold(q);
}

function unfold(q) {
  const part = parts.get(q.id);
  const result = app[q.from];
  if (!part.fold?.open || !result) return;
  const own = result.tables.filter(([name]) => q.tables.test(name) && (q.id !== "tasks" || ![clash, risk].some((other) => other.tables.test(name))));
  part.theory.innerHTML = [...(q.said?.(result) ?? []).map((sentence) => `<p>${sentence}</p>`), ...own.map(([, table]) => table)].join("");
}

const newest = new Newest({
  progress(step, share) {
    app.progress(step, share, this.since, () => {
      this.cancel();
      app.progress();
      app.busy(false);
      // Back to what is shown: nothing was computed of the new state.
      if (app.shown) app.load(app.shown);
    });
  },
  done(asked, found, milliseconds) {
    if (!this.next) app.busy(false);
    const begin = performance.now();
    app.progress();
    app.forecast = found.result;
    if (found.result.whole) {
      app.whole = found.result;
      app.old.delete("whole");
    }
    app.shown = location.hash.slice(1);
    app.render();
    attempts.show(app);
    if (app.state.has("page.compare")) app.compare();
    Object.assign(document.body.dataset, { building: (performance.now() - begin).toFixed(1), milliseconds: milliseconds.toFixed(1), server: found.milliseconds.toFixed(1), shown: asked });
    document.body.dispatchEvent(new CustomEvent("shown"));
    requestAnimationFrame(() => setTimeout(() => app.rest()));
  },
  failed(asked, sentence) {
    app.busy(false);
    document.body.classList.add("old");
    app.progress();
    app.problem(sentence);
    document.body.dataset.shown = asked;
    app.state.settle();
  },
});

app.load = (address) => {
  app.begun();
  app.state.read(address);
  app.state.put();
  app.state.settle();
  app.ask();
  app.compare();
};

app.take = async ([file, ...others]) => {
  app.progress(`reading ${file.name}`, 0, performance.now(), () => app.progress());
  try {
    const found = await sendFile(file, app.largest);
    app.origins.files = [...app.origins.files.filter((f) => f.name !== found.name), found];
    app.progress();
    if (app.missing === found.name) {
      app.missing = null;
      app.ask();
      return;
    }
    app.set({ ...Object.fromEntries([...app.state.keys.keys()].map((key) => [key, ""])), ...data.ofFile(app, found) });
    if (others.length) app.problem(`Only the first of ${others.length + 1} files was read: ${found.name}.`);
  } catch (error) {
    app.progress();
    app.problem(error.message);
  }
};

let begun = 0;

async function begin() {
  begun += 1;
  const own = begun;
  app.state.read(location.hash.slice(1));
  let found;
  try {
    found = await start(app.address());
  } catch (error) {
    if (own === begun) app.problem(error.message);
    return;
  }
  if (own !== begun) return;
  app.origins = found.origins;
  app.largest = found.largest;
  app.firstState = found.first;
  app.fields = new Map(found.fields.map((known) => [known.name, known]));
  app.missing = found.missing;
  if (app.missing) {
    app.problem(`This link needs the file ${app.missing}, which is not here: drop it on the page, or choose it under Data. The link is kept.`);
    app.controls();
    return;
  }
  if (found.refused || ![...app.state.keys.keys()].some((key) => !key.startsWith("page."))) app.state.read(found.first);
  app.state.put();
  app.ask();
  if (found.refused) app.problem(`${found.refused} The page shows its initial state instead.`);
}

$("main").append(...QUESTIONS.map(section));
attempts.show(app);

const back = () => app.state.steps && history.back();
$("undo").addEventListener("click", back);
window.addEventListener("keydown", (event) => {
  const typing = event.target.matches?.("input:not([type=range], [type=checkbox], [type=radio]), select, textarea");
  if (!(event.ctrlKey || event.metaKey) || event.altKey || typing) return;
  if (event.key === "z" && !event.shiftKey) back();
  else if (event.key === "y" || (event.key.toLowerCase() === "z" && event.shiftKey)) history.forward();
  else return;
  event.preventDefault();
});
$("reset").addEventListener("click", () => app.set({ ...Object.fromEntries([...app.state.keys.keys()].map((key) => [key, ""])), ...Object.fromEntries(new URLSearchParams(app.firstState)) }));
$("compare").addEventListener("click", () => {
  app.look({ "page.compare": app.state.has("page.compare") ? "" : app.address() });
  if (app.state.has("page.compare")) app.other = { address: app.address(), result: app.forecast };
  app.controls();
  app.compare();
});
$("open-data").addEventListener("click", () => data.open(app));
$("open-share").addEventListener("click", () => share.open(app));
$("skip").addEventListener("click", (event) => {
  event.preventDefault();
  $("main").focus();
});
for (const dialog of document.querySelectorAll("dialog")) dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
for (const button of document.querySelectorAll(".thumb button")) {
  button.addEventListener("click", () => {
    const { part } = button.dataset;
    if (part === "data") return data.open(app);
    if (part === "share") return share.open(app);
    const open = document.body.dataset.part === part ? "" : part;
    document.body.dataset.part = open;
    for (const other of document.querySelectorAll(".thumb [aria-expanded]")) other.setAttribute("aria-expanded", String(other.dataset.part === open));
    return undefined;
  });
}
window.addEventListener("hashchange", () => (app.fields.size ? typedOrBack() : begin()));

function typedOrBack() {
  if (history.state) app.load(location.hash.slice(1));
  else begin();
}

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
// The answer stays in sight, in one line once the page has been scrolled: it grows back only at the very top, so that it never flickers.
window.addEventListener("scroll", () => {
  const small = document.body.classList.contains("scrolled");
  if (small ? window.scrollY < 8 : window.scrollY > 180) document.body.classList.toggle("scrolled", !small);
}, { passive: true });
let width0 = window.innerWidth;
const redraw = () => {
  for (const { drawn } of parts.values()) drawn.again();
  if (app.forecast) answer.show(app, app.forecast, app.ghost);
};
window.addEventListener("resize", () => {
  if (width0 === window.innerWidth) return;
  width0 = window.innerWidth;
  redraw();
});
for (const name of ["beforeprint", "afterprint"]) window.addEventListener(name, redraw);
begin();
