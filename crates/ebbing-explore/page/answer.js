// The answer, which stays in sight: what is lost, its range, the final accuracy and what guessing gives.

import { $, between, el, percent, said } from "./dom.js";
import { box, dot, figure, line, scale, text } from "./figures.js";

const POINTS = [0, 100];

function range(trained, expected, before) {
  return (width) => {
    const at = scale(POINTS, [10, width - 10]);
    const lost = 100 * trained.lost;
    let body = line(at(0), 30, at(100), 30);
    for (const k of [0, 25, 50, 75, 100]) body += line(at(k), 27, at(k), 33);
    if (expected) {
      const [low, high] = expected.lost_interval.map((v) => Math.max(0, 100 * v));
      body += box(at(low), 22, Math.max(6, at(high) - at(low)), 16, "band", 'rx="8"');
    }
    if (before?.lost !== undefined && before.lost !== null) body += dot(at(Math.max(0, 100 * before.lost)), 30, 7, "ghost");
    body += dot(at(Math.max(0, lost)), 30, 7, "loss fill");
    const x = Math.min(width - 20, Math.max(20, at(Math.max(0, lost))));
    body += text(x, 15, percent(trained.lost), "b loss", "middle") + text(at(0), 54, "0", "s", "middle") + text(at(100), 54, "100 points lost", "s", "end");
    const points = expected ? [{ x, y: 30, say: `${percent(trained.lost)} points lost (${between(expected.lost_interval)})` }] : [];
    return { height: 60, body, points };
  };
}

/** Headline, sentences and bar of an answer: the number is what the eye meets first. */
export function headline(result, own) {
  const { forecast } = result.answer;
  const sentences = result.said.expectation.length ? result.said.expectation : result.sentences;
  const head = own ? own.head : sentences[0].replace(/ \([^)]*\)\.$/, ".");
  const lede = own ? own.lede : `${sentences[0] === head ? "" : `${(/\(([^)]*)\)\.$/.exec(sentences[0]) ?? ["", ""])[1]} points. `}${sentences.slice(1, result.said.expectation.length || 3).join(" ")}`;
  return { head: head.replace(/(\d+ points?|\d+ %)/, "<em>$1</em>"), lede: lede.replace(/^(−?\d+ to −?\d+) points/, "Likely $1 points"), outside: forecast.outside && !forecast.expected };
}

/** What a head in closed form comes to: exact, and nothing is forgotten. */
export function closed(app, result) {
  const kind = app.state.get("page.head");
  const heads = result.answer.forecast.heads?.heads ?? app.whole?.answer.forecast.heads?.heads ?? [];
  const found = heads.find((head) => head.kind === kind);
  if (!found) return null;
  const sentence = app.whole?.said.heads[0] ?? "";
  return { head: `Lose nothing: ${percent(found.mean_accuracy)} % at the end.`, lede: `This head in closed form does not forget, whatever the order; computed on your own held-out examples, not forecast. ${sentence}`, accuracy: found };
}

const bar = figure("range");

export function show(app, result, before) {
  if (!bar.holder.isConnected) $("range").append(bar.holder);
  const own = closed(app, result);
  const { head, lede } = headline(result, own);
  for (const id of ["headline", "lede"]) $(id).classList.remove("skeleton");
  $("headline").innerHTML = head;
  $("lede").innerHTML = lede;
  document.title = `ebbing: ${$("headline").textContent}`;
  const { trained, expected } = result.answer.forecast;
  const shown = trained && trained.lost !== null && trained.lost !== undefined && !own;
  bar.holder.hidden = !shown;
  if (shown) bar.show(result.said.expectation[0] ? said("p", result.said.expectation[0]).textContent : "", range(trained, expected, before?.answer.forecast.trained));
}

/** The same small, beside another one. */
export function small(result, name) {
  const { head, lede } = headline(result);
  const drawn = figure(`range-${name}`);
  const { trained, expected } = result.answer.forecast;
  const node = el("div", { class: "one" }, el("p", { class: "kicker" }, name), said("h2", head), drawn.holder, said("p", lede, { class: "hint" }));
  queueMicrotask(() => trained?.lost !== undefined && drawn.show(name, range(trained, expected)));
  return node;
}
