// Is my network wide enough? Two of the tasks with a head each, from narrow to wide, at a finite penalty first.

import { PENALTIES, control, penalty, stops } from "./fields.js";
import { called, el, significant } from "./dom.js";
import { box, line, path, scale, text } from "./figures.js";

/** The penalty that is shown where the address names none. */
export const LAMBDA = "10";

const value = (power, lambda) => (power ? (power.coefficient === "inf" ? Infinity : power.coefficient) * (lambda === "inf" ? (power.exponent > 0 ? Infinity : power.exponent < 0 ? 0 : 1) : Number(lambda) ** power.exponent) : null);

const TOP = 4;

function draw(app, answer, size, lambda) {
  const [curve] = answer.curves;
  const points = curve.points.map((p) => ({ n: p.factors.width, g21: value(p.g21, lambda), g22: value(p.g22, lambda), f21: value(p.f21, lambda) })).sort((a, b) => a.n - b.n);
  const losses = points.some((p) => p.g22 !== null) ? [["g21", "task learned first", "loss"], ["g22", "task learned second", "keep"]] : [["f21", "training loss of the first", "loss"]];
  return (width) => {
    const x0 = scale([Math.log(points[0].n), Math.log(points.at(-1).n)], [44, width - 12]);
    const x = (n) => Math.min(width - 12, Math.max(44, x0(Math.log(n))));
    const y = scale([0, TOP], [214, 34]);
    const critical = answer.critical_load.alpha_c === "inf" ? 0 : size / answer.critical_load.alpha_c;
    const edges = [[44, x(Math.max(critical, points[0].n)), "general", "generalizes"], [x(Math.max(critical, points[0].n)), x(size), "over", "overfits task 2"], [x(size), width - 12, "fixed", "keeps what it learned"]];
    let body = "";
    for (const [from, to, look, words] of edges) {
      body += box(from, 34, to - from, 180, `tint ${look}`);
      if (to - from > words.length * 6.8) body += text((from + to) / 2, 26, words, "s", "middle");
    }
    for (const v of [0, 1, 2, 3, 4]) body += line(44, y(v), width - 12, y(v), v ? "rule" : "axis") + text(36, y(v) + 4, v, "s", "end");
    body += line(44, y(1), width - 12, y(1), "chance");
    for (let n = 1; n <= points.at(-1).n; n *= 10) if (n >= points[0].n) body += text(x(n), 232, n.toLocaleString("en-US"), "s", "middle");
    const read = [];
    for (const [key, words, look] of losses) {
      const own = points.filter((p) => Number.isFinite(p[key]));
      body += path(own.map((p) => [x(p.n), y(Math.min(TOP, p[key]))]), look);
      for (const p of own) read.push({ x: x(p.n), y: y(Math.min(TOP, p[key])), say: `${Math.round(p.n)} units, ${words}: ${significant(p[key])}` });
    }
    losses.forEach(([, words, look], k) => {
      const [lx, ly] = width < 440 ? [44, 252 + 20 * k] : [44 + 190 * k, 252];
      body += line(lx, ly, lx + 20, ly, look) + text(lx + 26, ly + 4, words, "s");
    });
    const own = answer.location?.width;
    if (own) body += line(x(own), 34, x(own), 214, "own") + text(x(own) + (x(own) > width - 120 ? -6 : 6), 46, `your ${own}`, "b loss", x(own) > width - 120 ? "end" : "start");
    body += text(width - 12, 256, "hidden units", "s", "end");
    return { height: width < 440 ? 282 : 262, body, points: read };
  };
}

function controls(app, result) {
  const [i, j] = (app.state.get("phase.pair") ?? "1,2").split(",").map(Number);
  const names = app.forecast?.answer.forecast.tasks ?? [];
  const order = app.forecast?.order ?? [];
  const name = (t) => called(names, order.indexOf(t));
  const select = (now, label, change) => el("select", { "aria-label": label, "data-focus": label, onchange: (event) => change(Number(event.target.value)) },
    Array.from({ length: result.tasks }, (_, k) => el("option", { value: k + 1, selected: k + 1 === now }, name(k + 1))));
  const set = (a, b) => app.set({ "phase.pair": `${a},${b}` });
  return el("div", { class: "controls", id: "pair" }, el("p", {}, select(i, "learned first", (v) => set(v, v === j ? i : j)), " then ", select(j, "learned second", (v) => set(v === i ? j : i, v))),
    stops(app, "phase.lambda", PENALTIES, { show: penalty, now: app.state.get("phase.lambda") ?? LAMBDA }), app.state.has("phase.width") ? control(app, "phase.representation") : null);
}

export const question = {
  id: "width",
  title: "Is my network wide enough?",
  skeleton: 262,
  make(app) {
    const result = app.phase;
    if (!result) return app.refusals.phase ? { lead: app.refusals.phase } : null;
    const { answer } = result;
    const lambda = app.state.get("phase.lambda") ?? LAMBDA;
    // Heads of several outputs each: in words and numbers.
    if (!answer.curves) return { lead: result.sentences.slice(0, 2), before: controls(app, result) };
    const lead = answer.location ? result.sentences[0] : `Give your width under Try: above ${significant(result.sizes[1])} hidden units two tasks with a head each keep what they learned, whatever the penalty.`;
    return { lead, finding: lead.replace(/<[^>]*>/g, ""), draw: draw(app, answer, result.sizes[1], lambda), before: controls(app, result),
      cap: `Two tasks of ${result.sizes.join(" and ")} examples with a head each, λ = ${penalty(lambda)}. Test loss after both are learned, over that of learning the task alone (dashed: 1); above ${TOP} it is drawn at ${TOP}. Tints: what happens as λ grows.` };
  },
  from: "phase",
  said: (result) => [...result.sentences.slice(1), ...result.notes],
  tables: /./,
};
