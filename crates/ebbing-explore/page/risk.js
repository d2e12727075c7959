// Which examples are at risk? Those that are right after their own task and most likely wrong after the last one.

import { el } from "./dom.js";
import { thumb } from "./data.js";

const SHOWN = 8;

export const question = {
  id: "risk",
  title: "Which examples are at risk?",
  skeleton: 160,
  make(app) {
    const result = app.whole;
    if (!result) return null;
    const { examples } = result.answer.forecast;
    if (!examples?.tasks) return { lead: "Computed where targets name classes and that costs little: ebbing forecast --at-risk computes it at any size." };
    const earlier = examples.tasks.slice(0, Math.max(1, examples.tasks.length - 1));
    const name = (c) => examples.class_names[c] ?? String(c);
    const box = (task, t) => {
      const set = task.test ?? task.train;
      const listed = set.most_at_risk.slice(0, SHOWN);
      const images = result.at_risk?.[t];
      const one = (e, k) => el("figure", { class: "example" }, images?.[k] ? thumb(images[k], `Example ${e.row + 1} of ${task.name}`) : el("b", {}, `row ${e.row + 1}`),
        el("figcaption", {}, `${name(e.class)} → ${name(e.rival)}`));
      return el("div", { class: "row" }, el("p", {}, el("b", {}, task.name), ` ${set.lost} of ${set.learned} lost`), el("div", { class: "examples" }, listed.map(one)));
    };
    const few = earlier.slice(0, 5);
    const more = earlier.length > few.length ? ` The first ${few.length} of ${earlier.length} tasks; the others are below.` : "";
    return { lead: result.said.examples, nodes: few.map(box), cap: `Those with the smallest margins after the last task, with the class that each is taken for.${more} ${examples.meaning[0].toUpperCase()}${examples.meaning.slice(1)}.` };
  },
  from: "whole",
  tables: /risk|forgetting sits/i,
};
