// What to do against forgetting, with replay as a slider.

import { choice, count, group } from "./controls.js";
import { el, number, rowHead, sentences, significant, table } from "./dom.js";
import { figures } from "./figures.js";

export function controls(app) {
  return [
    el("fieldset", { id: "replay" }, el("legend", {}, "Replay")),
    group("Goal",
      count(app, "advise.keep-forgetting-below", { step: "any" }),
      count(app, "advise.budget"),
      choice(app, "replay-budget", { as: "advise.replay-budget" })),
  ];
}

/** The slider over the amounts that were computed: it answers without the server, and the forecast takes its amount. */
function replay(app, advice) {
  const box = document.getElementById("replay");
  if (!box) return;
  const nothing = advice.remedies.find((r) => r.kind === "nothing");
  const points = [{ examples: 0, forgetting: nothing?.forgetting ?? null, cost: 1 }, ...advice.replay];
  const now = Number(app.state.get("replay") ?? 0);
  const nearest = points.reduce((best, p, k) => (Math.abs(p.examples - now) < Math.abs(points[best].examples - now) ? k : best), 0);
  const answer = el("p", { id: "replayed", role: "status" });
  const say = (k, before = "") => {
    const { examples, forgetting, cost } = points[k];
    answer.replaceChildren(`${before}${examples} kept: forgetting `, el("b", { "data-value": forgetting }, significant(forgetting)), `, work of training × ${significant(cost)}`);
    input.setAttribute("aria-valuetext", answer.textContent);
  };
  const input = el("input", { type: "range", min: 0, max: points.length - 1, step: 1, value: nearest, id: "replay-slider", "data-key": "replay",
    oninput: () => say(Number(input.value)),
    onchange: () => {
      const { examples } = points[Number(input.value)];
      // Only the address: the advice holds for all amounts, and the forecast will be asked with this one.
      if (examples) app.state.set("replay", String(examples));
      else app.state.delete("replay");
      history.replaceState(null, "", `#${app.address()}`);
    } });
  box.replaceChildren(el("legend", {}, "Replay"), el("div", { class: "field" }, el("label", { for: "replay-slider" }, "examples kept of earlier tasks"), input), answer,
    el("p", { class: "note" }, "The view Forecast then shows the whole forecast with this replay."));
  say(nearest, points[nearest].examples === now ? "" : `The address asks for ${now} kept, which is not computed here; the nearest is `);
}

export function show(app, { sentences: words, figures: drawn, advice, assumes }) {
  replay(app, advice);
  const heads = ["remedy", "forgetting", "gain", "accuracy", "transfer", "cost", "needs"];
  const rows = advice.remedies.map((r) => (r.applies
    ? [rowHead(r.remedy, true), number(r.forgetting), number(r.gain), number(r.accuracy), number(r.backward_transfer), number(r.cost), el("td", { class: "wrap" }, r.needs)]
    : [rowHead(r.remedy, true), el("td", { colspan: 6, class: "wrap" }, `does not apply: ${r.why}`)]));
  return [sentences(words), ...figures(drawn), table("Remedies, the least forgetting first", heads, rows, "remedies"), el("p", { class: "note" }, assumes)];
}
