// What else would help? Every method by the accuracy at the end, against doing nothing.

import { between, percent, short, size } from "./dom.js";
import { dot, line, scale, text } from "./figures.js";

const MEANING = { exact: "◆ computed on your held-out examples", measured: "● forecast, compared with trained networks", theory: "○ theory alone" };

function mark(x, y, support, better) {
  if (support === "exact") return `<path d="M${x - 6} ${y}l6 -6l6 6l-6 6z" class="keep fill"/>`;
  return dot(x, y, 5, support === "theory" ? "open" : better ? "keep fill" : "ink fill");
}

function draw(rows, nothing) {
  return (width) => {
    const phone = width < 560;
    const left = phone ? 132 : 236;
    const right = phone ? 24 : 210;
    const x = scale([0, 100], [left, width - right]);
    const high = 28;
    let body = line(x(100 * nothing.accuracy), 22, x(100 * nothing.accuracy), 26 + rows.length * high, "chance");
    body += text(Math.min(width - right, Math.max(left + 60, x(100 * nothing.accuracy))), 14, `doing nothing, ${percent(nothing.accuracy)} %`, "s", "middle");
    const points = [];
    rows.forEach((row, k) => {
      const y = 40 + k * high;
      const at = x(100 * row.accuracy);
      if (row.accuracy_interval) body += line(x(100 * row.accuracy_interval[0]), y, x(100 * row.accuracy_interval[1]), y, "span");
      body += line(x(100 * nothing.accuracy), y, at, y, row.sure ? "stem keep" : "stem");
      body += mark(at, y, row.support.kind, row.sure);
      body += text(left - 12, y + 4, short(row.method, phone ? 17 : 32), row.task_known ? "s" : "", "end");
      const over = row.accuracy > 0.86;
      body += text(at + (over ? -12 : 12), y - (over ? 8 : -4), `${percent(row.accuracy)} %`, row.sure ? "b keep" : "b", over ? "end" : "start");
      if (!phone) body += text(width - right + 18, y + 4, row.bytes ? `keeps ${size(row.bytes)}` : short(row.needs, 28), "s");
      points.push({ x: at, y, say: `${row.method}: ${percent(row.accuracy)} %${row.accuracy_interval ? ` (${between(row.accuracy_interval)})` : ""}${row.bytes ? `, keeps ${size(row.bytes)}` : ""}${row.needs ? `; needs ${row.needs}` : ""}` });
    });
    const foot = 40 + rows.length * high;
    for (const v of [0, 25, 50, 75, 100]) body += text(x(v), foot + 10, v, "s", "middle");
    body += text(left, foot + 28, "accuracy at the end, %", "s");
    return { height: foot + 34, body, points };
  };
}

export const question = {
  id: "help",
  title: "What else would help?",
  skeleton: 420,
  make(app) {
    const { advise } = app;
    if (!advise) return app.refusals.advise ? { lead: app.refusals.advise } : null;
    const { methods } = advise.answer.advice;
    if (!methods) return { lead: advise.sentences.slice(0, 2), cap: "Without test data of classes there is no accuracy to compare; the theory's own remedies are below." };
    const nothing = methods.rows.find((row) => row.kind === "fine-tuning") ?? methods.rows.at(-1);
    const rows = [...methods.rows].filter((row) => row !== nothing).sort((a, b) => a.task_known - b.task_known || b.accuracy - a.accuracy);
    const kinds = [...new Set(rows.map((row) => row.support.kind))].filter((kind) => kind in MEANING);
    const known = rows.some((row) => row.task_known) ? " Gray names need to know the task at test time." : "";
    const used = methods.examples_used[0] < methods.examples_used[1] ? ` Computed from ${methods.examples_used[0]} of ${methods.examples_used[1]} examples of each task.` : "";
    return { lead: advise.sentences.slice(0, 2), finding: advise.figures[0]?.finding || advise.sentences[0].replace(/<[^>]*>/g, ""), draw: draw(rows, nothing),
      cap: `${kinds.map((kind) => MEANING[kind]).join(" · ")}. Bars: eight in ten measured networks.${known}${used}` };
  },
  from: "advise",
  said: (result) => [...result.sentences.slice(2), ...result.notes],
  tables: /./,
};
