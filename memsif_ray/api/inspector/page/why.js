// One fact: what it says, why it is there, and how it came to be so.

import { get } from "./api.js";
import { textOf } from "./bubble.js";
import { hashOf } from "./conversations.js";
import { button, el, faultNote, plural, say, words } from "./dom.js";
import { interval, labels } from "./facts.js";
import { segmentName, threadName } from "./structure.js";
import { day, moment, validity } from "./when.js";

/**
 * @param {string} memoryId
 * @param {object} view `conversationId`, `structure`, `mark(ids)` and `openMessage(id)`
 */
export async function whyPanel(memoryId, view) {
  const back = el("p", {}, el("a", { href: hashOf(view.conversationId), class: "back" }, "← All facts"));
  const path = `v1/memories/${encodeURIComponent(memoryId)}`;
  try {
    const [provenance, history] = await Promise.all([get(`${path}/provenance`), get(`${path}/history`)]);
    view.mark(new Set(provenance.messages.map((message) => message.id)), provenance.memory.text);
    say(`Rests on ${plural(provenance.messages.length, "message")}, marked in the timeline`);
    return el("div", { class: "why" }, back, about(provenance.memory, view),
      grounds(provenance, view), questions(provenance.queries), past(history.results, view));
  } catch (fault) {
    const heading = el("h2", { tabindex: "-1" }, "This fact cannot be shown");
    return el("div", { class: "why" }, back, heading, faultNote(fault));
  }
}

function about(memory, view) {
  const row = (name, value) => value === null || value === "" ? [] : [el("dt", {}, name), el("dd", {}, value)];
  const follower = memory.replaced_by &&
    el("a", { href: hashOf(view.conversationId, memory.replaced_by) }, "a newer fact");
  return el("header", {},
    el("p", { class: "kicker" }, labels(memory)),
    words("h2", { tabindex: "-1" }, memory.text),
    el("p", { class: "held wide" }, interval(memory, view.structure.span)),
    el("dl", {},
      row("Holds", validity(memory)),
      row("About", memory.attribute && el("bdi", {}, memory.attribute)),
      row("Happened", memory.event_time && day(memory.event_time)),
      row("Learned", moment(memory.ingested_at)),
      row("Version", String(memory.version)),
      row("Replaced by", follower)));
}

/** Messages by topic, in the order in which they were said. */
function grounds({ messages, segments, trajectories }, view) {
  const holding = (message) => segments.find((segment) => segment.message_ids.includes(message.id));
  const items = messages.map((message) => {
    const segment = holding(message);
    return el("li", {},
      el("p", { class: "small" }, placeName(segment, trajectories)),
      el("blockquote", {}, textOf(message.content)),
      el("p", { class: "source" },
        el("span", { class: "small" }, el("bdi", {}, message.name), ` · ${moment(message.timestamp)}`),
        button("Show in timeline", () => view.openMessage(message.id), { "data-message": message.id })));
  });
  const none = el("p", { class: "small" }, "No message is recorded for it.");
  return el("section", {}, el("h3", {}, "Why"), items.length ? el("ol", { class: "plain grounds" }, items) : none);
}

function placeName(segment, trajectories) {
  if (!segment) return "Outside any topic";
  const threads = trajectories.filter((one) => one.segment_ids.length > 1 && one.segment_ids.includes(segment.id));
  return ["Topic ", el("bdi", {}, segmentName(segment)),
    threads.map((one) => [" · thread ", el("bdi", {}, threadName(one))]).flat()].flat();
}

function questions(queries) {
  if (!queries.length) return null;
  return el("section", {}, el("h3", {}, "Questions that asked for it"),
    el("ul", { class: "queries" }, queries.map((query) => words("li", {}, query))));
}

function past(entries, view) {
  const target = (id) => el("a", { href: hashOf(view.conversationId, id) }, "the other fact");
  const items = entries.map((entry) => el("li", {},
    el("p", { class: "small" }, el("strong", {}, entry.op), ` · ${moment(entry.at)} · by ${entry.decided_by}`),
    words("p", {}, entry.text),
    entry.reason ? words("p", { class: "small" }, entry.reason) : null,
    entry.targets.length ? el("p", { class: "small" }, "See ", entry.targets.map(target)) : null));
  return el("section", {}, el("h3", {}, "History"), el("ol", { class: "history" }, items));
}
