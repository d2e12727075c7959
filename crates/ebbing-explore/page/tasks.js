// How much does each task lose? A small line for every task, from when it is learned to the end.

import { called, percent, short } from "./dom.js";
import { dot, line, path, scale, text } from "./figures.js";

const MOST = 20;

function series(result, before) {
  const { forecast } = result.answer;
  const { accuracy } = forecast.trained;
  const old = new Map((before?.order ?? []).map((task, s) => [task, s]));
  return result.order.map((task, s) => {
    const after = accuracy.mean.slice(s).map((row) => row[s]);
    const was = old.has(task) && before.answer.forecast.trained && before.order.length === result.order.length ? old.get(task) : -1;
    const ghost = was < 0 ? [] : before.answer.forecast.trained.accuracy.mean.slice(was).map((row) => row[was]);
    return { s, task, name: called(forecast.tasks, s), after, ghost: { from: was, after: ghost }, lost: after[0] - after.at(-1) };
  });
}

/** What the page draws of an answer. */
export function drawing(result, before, compact = false) {
  const all = series(result, before);
  const many = all.length;
  const shown = many > MOST ? [...all].sort((a, b) => b.lost - a.lost).slice(0, MOST).sort((a, b) => a.s - b.s) : all;
  const worst = all.reduce((a, b) => (b.lost > a.lost ? b : a));
  const { chance } = result.answer.forecast.trained;
  return (width) => {
    const across = Math.min(shown.length, compact || width < 500 ? 5 : shown.length > 10 ? 10 : Math.max(5, shown.length));
    const rows = Math.ceil(shown.length / across);
    const [left, gap, high] = [34, width < 500 ? 8 : 16, compact ? 150 : rows > 1 ? 150 : 220];
    const wide = (width - left - (across - 1) * gap) / across;
    const points = [];
    let body = "";
    for (let r = 0; r < rows; r += 1) {
      const y = scale([0, 100], [r * (high + 24) + high - 22, r * (high + 24) + 34]);
      for (const v of [0, 50, 100]) body += line(left, y(v), width, y(v), v ? "rule" : "axis") + text(left - 8, y(v) + 4, v, "s", "end");
      body += line(left, y(100 * chance), width, y(100 * chance), "chance");
      for (let c = 0; c < across && r * across + c < shown.length; c += 1) {
        const { s, name, after, ghost, lost } = shown[r * across + c];
        const x0 = left + c * (wide + gap);
        const x = scale([1, many], [x0 + 8, x0 + wide - (width < 500 ? 8 : 26)]);
        const look = lost === worst.lost && lost > 0.005 ? "loss" : "grey";
        body += text(x0, r * (high + 24) + 12, short(name, Math.max(3, Math.floor(wide / 7.6))), "b");
        if (ghost.after.length) body += path(ghost.after.map((v, k) => [x(ghost.from + 1 + k), y(100 * v)]), "ghost");
        const own = after.map((v, k) => [x(s + 1 + k), y(100 * v)]);
        body += path(own, look) + dot(...own[0], 3, `${look} fill`) + dot(...own.at(-1), 4, `${look} fill`);
        own.forEach(([px, py], k) => points.push({ x: px, y: py, say: `${name}: ${percent(after[k])} % after task ${s + 1 + k}` }));
        if (wide > 52) {
          const [[bx, by], [ex, ey]] = [own[0], own.at(-1)];
          if (after.length > 1) body += text(bx - 2, by - 8, percent(after[0]), "s");
          // Below its point where it would lie on the first one.
          const close = after.length > 1 && ex - bx < 26 && Math.abs(ey - by) < 24;
          body += text(ex, close ? Math.min(y(0) - 2, ey + 18) : ey - 9, percent(after.at(-1)), `b ${look === "loss" ? "loss" : ""}`, after.length > 1 ? "middle" : "end");
        }
      }
      body += text(left, r * (high + 24) + high - 4, many > 1 ? `after task 1 … ${many}` : "after the task", "s");
    }
    body += text(width, rows * (high + 24) - 28, width < 500 ? `dashed: guessing, ${percent(chance)} %` : `test accuracy in %; dashed: guessing, ${percent(chance)} %`, "s", "end");
    return { height: rows * (high + 24) - 20, body, points };
  };
}

export const question = {
  id: "tasks",
  title: "How much does each task lose?",
  skeleton: 224,
  make(app) {
    const result = app.forecast;
    if (!result) return null;
    const { forecast } = result.answer;
    if (!forecast.trained) {
      return { lead: result.sentences[0], finding: result.sentences[0], draw: losses(forecast), cap: "Training-loss forgetting of the theory: 0 is remembered, 1 as bad as answering 0. With test data of classes a forecast says what trained networks lose." };
    }
    const finding = result.figures.find((f) => f.name === "accuracy")?.finding ?? "";
    const many = forecast.tasks.length > MOST ? ` Drawn are the ${MOST} of ${forecast.tasks.length} tasks that lose most.` : "";
    const dashes = app.ghost ? " Pale: the state before." : "";
    return { lead: finding, finding, draw: drawing(result, app.ghost), cap: `Forecast accuracy of trained networks on held-out data, after each task.${many}${dashes}` };
  },
  from: "forecast",
  said: (result) => [...result.said.theory, ...result.notes],
  tables: /./,
};

function losses(forecast) {
  const rows = forecast.forgetting?.mean ?? [];
  return (width) => {
    const x = scale([1, Math.max(2, rows.length)], [40, width - 90]);
    const y = scale([0, 1.5], [200, 16]);
    let body = "";
    const points = [];
    for (const v of [0, 0.5, 1, 1.5]) body += line(40, y(v), width - 90, y(v), v ? "rule" : "axis") + text(32, y(v) + 4, v, "s", "end");
    rows.forEach((_, s) => {
      const own = rows.slice(s).map((row, k) => [x(s + 1 + k), y(Math.min(1.5, row[s])), row[s]]);
      body += path(own, s ? "grey" : "loss") + dot(...own.at(-1), 4, s ? "grey fill" : "loss fill");
      if (rows.length <= 10) body += text(own.at(-1)[0] + 8, own.at(-1)[1] + 4, short(called(forecast.tasks, s), 10), "s");
      own.forEach(([px, py, v], k) => points.push({ x: px, y: py, say: `${called(forecast.tasks, s)}: F ${v.toPrecision(3)} after task ${s + 1 + k}` }));
    });
    return { height: 228, body: body + text(40, 222, "tasks learned", "s"), points };
  };
}
