// Which tasks clash? The conflict of every ordered pair; without the theory's own quantities, what each task loses while another is learned.

import { called, short, significant } from "./dom.js";
import { box, text } from "./figures.js";

function draw(names, value, most, show) {
  const n = names.length;
  return (width) => {
    const left = width < 500 ? 76 : 130;
    const cell = Math.max(10, Math.min(64, (Math.min(width, 640) - left) / n));
    const letters = Math.floor((left - 12) / 7.4);
    let body = "";
    const points = [];
    for (let b = 0; b < n; b += 1) {
      if (cell > 12) body += text(left - 8, 34 + (b + 0.5) * cell + 4, short(names.some((name) => name.length * 7.8 > cell) ? `${b + 1}. ${names[b]}` : names[b], letters), "", "end");
      if (cell > 16 || b % 5 === 0) body += text(left + (b + 0.5) * cell, 26, names.some((name) => name.length * 7.8 > cell) ? b + 1 : names[b], "s", "middle");
      for (let a = 0; a < n; a += 1) {
        const v = value(a, b);
        const [x, y] = [left + a * cell, 34 + b * cell];
        if (v === null || v === undefined) body += box(x + 1, y + 1, cell - 2, cell - 2, "empty");
        else {
          const share = Math.min(1, Math.max(0, v / most));
          body += box(x + 1, y + 1, cell - 2, cell - 2, "loss cell", `fill-opacity="${(0.06 + 0.74 * share).toFixed(3)}"`);
          if (cell >= 40) body += text(x + cell / 2, y + cell / 2 + 4, show(v), "cellname", "middle");
          points.push({ x: x + cell / 2, y: y + cell / 2, say: `${names[a]}, then ${names[b]}: ${show(v)}` });
        }
      }
    }
    body += text(left, 10, "learned first →", "s") + text(0, 26, "later ↓", "s");
    return { height: 40 + n * cell, body, points };
  };
}

export const question = {
  id: "clash",
  title: "Which tasks clash?",
  skeleton: 300,
  make(app) {
    const result = app.forecast;
    if (!result) return null;
    const { pairs, tasks, trained } = result.answer.forecast;
    const names = tasks.map((_, s) => called(tasks, s));
    if (tasks.length < 2) return { lead: "One task alone has none to clash with." };
    const lead = result.said.clash[0] ?? "No two tasks clash by more than this can tell.";
    if (pairs.length) {
      const of = new Map(pairs.map((pair) => [`${pair.first} ${pair.second}`, pair.values.conflict]));
      return { lead, finding: lead, draw: draw(names, (a, b) => (a === b ? null : of.get(`${a + 1} ${b + 1}`)), 1, significant),
        cap: "Conflict, from 0 to 1: how much the later task drives features that the first one uses, less what their rules share. Tasks in the order learned; both orders of every pair." };
    }
    if (!trained) return { lead };
    const after = trained.accuracy.mean;
    return { lead, finding: lead, draw: draw(names, (a, b) => (a < b ? 100 * Math.max(0, after[b - 1][a] - after[b][a]) : null), 100, (v) => String(Math.round(v))),
      cap: "Points of accuracy that a task loses while a later one is learned. Order parameters of tasks as large as these are computed by ebbing forecast --theory." };
  },
  from: "forecast",
  tables: /order param/i,
};
