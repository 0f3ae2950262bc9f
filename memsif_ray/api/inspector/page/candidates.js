// Candidate clusters: how far each is from becoming an ActiveFact.

import { hashOf } from "./conversations.js";
import { el, plural, words } from "./dom.js";
import { listing } from "./listing.js";

export function candidatesPanel(conversationId) {
  const intro = el("p", { class: "small" },
    "What questions come back to. A candidate becomes an ActiveFact when both scores reach θ.");
  const list = listing("v1/candidates", { conversation_id: conversationId, limit: 50 },
    (candidate) => entry(candidate, conversationId), { one: "candidate", empty: "No question has been learned from yet." });
  return el("div", {}, intro, list);
}

function entry(candidate, conversationId) {
  const [first, ...others] = candidate.statements;
  return el("li", { class: "candidate" },
    el("p", { class: "kicker" }, el("bdi", {}, candidate.subject)),
    words("h3", {}, first ?? "No statement"),
    others.length ? el("details", {}, el("summary", {}, `and ${plural(others.length, "more statement")}`),
      el("ul", {}, others.map((text) => words("li", {}, text)))) : null,
    score("Sources", candidate.source_score, candidate.theta_source),
    score("Questions", candidate.query_score, candidate.theta_query),
    el("p", { class: "small" }, outcome(candidate, conversationId)),
    candidate.queries.length ? el("details", {}, el("summary", {}, plural(candidate.queries.length, "question")),
      el("ul", { class: "queries" }, candidate.queries.map((text) => words("li", {}, text)))) : null);
}

/** One score against its threshold; the bar repeats the words for the eye. */
function score(name, value, theta) {
  const reached = value >= theta;
  const vars = { "--value": `${Math.min(value, 1) * 100}%`, "--theta": `${Math.min(theta, 1) * 100}%` };
  return el("p", { class: reached ? "score reached" : "score" },
    el("span", { class: "score-name" }, name),
    el("span", { class: "bar", "aria-hidden": "true", vars }),
    el("span", { class: "figures" }, `${value.toFixed(2)} ${reached ? "≥" : "<"} θ ${theta.toFixed(2)}`,
      el("span", { class: "unseen" }, reached ? ", reached" : ", not reached")));
}

function outcome(candidate, conversationId) {
  if (!candidate.promoted) return `${plural(candidate.sources.length, "source")} · not promoted`;
  return [`${plural(candidate.sources.length, "source")} · promoted to `,
    el("a", { href: hashOf(conversationId, candidate.promoted) }, "an ActiveFact")];
}
