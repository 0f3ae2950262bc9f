// The timeline: a window of messages, grouped into sessions and topics. However long the conversation, the
// page holds at most WINDOW messages of it.

import { button, el, faultNote, plural, say } from "./dom.js";
import { messageSource } from "./messages.js";
import { bubble } from "./bubble.js";
import { segmentName } from "./structure.js";
import { longDay } from "./when.js";

const STEP = 60;
const WINDOW = 240;
const LEAD = 6; // messages shown before the one looked for

export function makeTimeline(conversation, structure) {
  const source = messageSource(conversation.conversation_id);
  const root = el("div", { class: "timeline" });
  const state = { from: 0, to: 0, marked: new Set(), nodes: new Map() };

  async function showFrom(from, to = from + STEP) {
    try {
      await source.loadTo(to);
    } catch (fault) {
      root.replaceChildren(faultNote(fault, () => showFrom(from, to)));
      return;
    }
    state.to = Math.min(to, source.known());
    state.from = Math.max(0, from);
    render();
  }

  function render() {
    state.nodes.clear();
    const sessions = grouped(source.slice(state.from, state.to), (message) => message.session);
    const rest = source.ended() && state.to >= source.known();
    root.replaceChildren(
      state.from > 0 ? step("Earlier messages", earlier) : "",
      ...sessions.map(sessionBlock),
      rest ? "" : step("Later messages", later),
    );
    if (!source.known()) root.append(el("p", { class: "small empty" }, "No message yet."));
  }

  const step = (label, click) => el("p", { class: "step" }, button(label, click));

  async function earlier() {
    const first = source.slice(state.from, state.from + 1)[0];
    const from = Math.max(0, state.from - STEP);
    await showFrom(from, Math.min(state.to, from + WINDOW));
    moved(first, "start");
  }

  async function later() {
    const to = state.to + STEP;
    const last = source.slice(state.to - 1, state.to)[0];
    await showFrom(Math.max(state.from, to - WINDOW), to);
    moved(last, "end");
  }

  /** The reader stays where they were, now with more around it. */
  function moved(message, block) {
    const node = state.nodes.get(message.id);
    node?.scrollIntoView({ block });
    node?.focus({ preventScroll: true });
    say(`Messages ${state.from + 1} to ${state.to}`);
  }

  function sessionBlock(messages) {
    const topics = grouped(messages, (message) => structure.segmentOf.get(message.id)?.id);
    const day = longDay(messages[0].timestamp);
    return el("section", { class: "session" },
      el("h3", {}, el("time", { datetime: messages[0].timestamp }, day)),
      topics.map((topic) => topicBlock(topic, day)));
  }

  function topicBlock(messages, day) {
    const segment = structure.segmentOf.get(messages[0].id);
    const list = el("ol", { class: "messages" }, messages.map((message) => place(message, day)));
    if (!segment) return el("section", { class: "topic loose" }, el("h4", {}, "Not yet in a topic"), list);
    const open = segment.open ? el("span", { class: "tag" }, "open") : null;
    return el("section", { class: "topic" },
      el("h4", {}, el("bdi", {}, segmentName(segment)), " ", open),
      threadsOf(segment), list);
  }

  function threadsOf(segment) {
    const number = structure.index.get(segment.id);
    const threads = structure.threadsAt[number];
    return threads.length ? el("ul", { class: "chips" }, threads.map((thread) => chip(thread, number))) : null;
  }

  function chip(thread, number) {
    const at = thread.places.indexOf(number);
    const go = (label, sign, to) => to === undefined ? null : button(sign, () => openSegment(structure.segments[to]),
      { class: "hop", "aria-label": `${label} topic of the thread ${thread.name}` });
    return el("li", {},
      go("Earlier", "←", thread.places[at - 1]),
      el("span", { class: "chip" }, "Thread ", el("bdi", {}, thread.name), ` · ${at + 1} of ${thread.places.length}`),
      go("Later", "→", thread.places[at + 1]));
  }

  function place(message, day) {
    const node = bubble(message, state.marked.has(message.id), day);
    state.nodes.set(message.id, node);
    return node;
  }

  /** Bring a message into view; with `focus` the reader goes there. */
  async function openMessage(id, { focus = true } = {}) {
    try {
      await source.loadMessage(id);
    } catch (fault) {
      root.prepend(faultNote(fault, () => openMessage(id, { focus })));
      return;
    }
    const at = source.placeOf(id);
    if (at === undefined) return;
    if (!state.nodes.has(id)) await showFrom(Math.max(0, at - LEAD), at - LEAD + STEP);
    const node = state.nodes.get(id);
    node.scrollIntoView({ block: "center" });
    if (focus) node.focus({ preventScroll: true });
  }

  async function openSegment(segment) {
    await openMessage(segment.message_ids[0]);
    say(`${segmentName(segment)}, ${plural(segment.message_ids.length, "message")}`);
  }

  /** Mark messages as evidence; an empty set marks none. */
  function mark(ids) {
    state.marked = ids;
    for (const [id, node] of state.nodes) node.mark(ids.has(id));
  }

  root.ready = showFrom(0);
  return { root, mark, openMessage, openSegment };
}

/** Runs of neighbours with the same key. */
function grouped(items, keyOf) {
  const runs = [];
  let last;
  for (const item of items) {
    const key = keyOf(item);
    if (!runs.length || key !== last) runs.push([]);
    runs.at(-1).push(item);
    last = key;
  }
  return runs;
}
