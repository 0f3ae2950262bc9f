// One conversation: its picture, its timeline, and what memory made of it.

import { askPanel, searchPanel } from "./asking.js";
import { candidatesPanel } from "./candidates.js";
import { byId, el, plural, words } from "./dom.js";
import { factsPanel } from "./facts.js";
import { makeMap, threadList } from "./map.js";
import { makeSpotlight } from "./spotlight.js";
import { loadStructure } from "./structure.js";
import { tabSet } from "./tabs.js";
import { makeTimeline } from "./timeline.js";
import { days } from "./when.js";
import { whyPanel } from "./why.js";

/** Which of the two is seen where there is room for one only. */
export function showView(name) {
  document.body.dataset.view = name;
  for (const one of byId("views").children) one.setAttribute("aria-pressed", String(one.dataset.view === name));
}

/** Load a conversation into the page; the result shows one of its facts (null: the lists). */
export async function openConversation(conversationId) {
  const structure = await loadStructure(conversationId);
  const timeline = makeTimeline({ conversation_id: conversationId }, structure);
  const openSegment = (segment) => {
    showView("timeline");
    timeline.openSegment(segment);
  };
  const map = makeMap(structure, openSegment);
  const view = { conversationId, structure, mark, openMessage };
  const spotlight = makeSpotlight({ openMessage, clear: () => mark(new Set(), ""), back: backToMemory });

  function mark(ids, text) {
    timeline.mark(ids);
    map.mark(ids);
    spotlight.show(ids, text);
  }

  function openMessage(id) {
    showView("timeline");
    timeline.openMessage(id);
  }

  byId("conversation").replaceChildren(
    header(conversationId, structure),
    el("section", { class: "picture", "aria-labelledby": "map-title" },
      el("h2", { id: "map-title" }, "Topics and threads"), map.root, threadList(structure, openSegment)),
    el("section", { "aria-labelledby": "timeline-title" },
      el("h2", { id: "timeline-title" }, "Timeline"), spotlight.root, timeline.root));
  const why = el("div", { hidden: true });
  const tabs = tabSet("Memory", [
    { id: "facts", label: "Facts", content: factsPanel(conversationId, structure) },
    { id: "candidates", label: "Candidates", content: candidatesPanel(conversationId) },
    { id: "search", label: "Search", content: searchPanel(view) },
    { id: "ask", label: "Ask", content: askPanel(view) },
  ]);
  byId("memory").replaceChildren(el("h2", { class: "unseen" }, "Memory"), tabs, why);
  return (memoryId) => showFact(memoryId, { tabs, why, view, timeline });
}

function header(conversationId, { segments, threads, span }) {
  const when = span ? ` · ${days(span.from, span.to)}` : "";
  return el("header", { class: "title" },
    el("a", { href: "#/", class: "back only-narrow" }, "← Conversations"),
    words("h1", { tabindex: "-1" }, conversationId),
    el("p", { class: "small" }, `${plural(segments.length, "topic")}, ${plural(threads.length, "thread")}${when}`));
}

let opened = null; // the fact that the reader comes back to

async function showFact(memoryId, { tabs, why, view, timeline }) {
  tabs.hidden = memoryId !== null;
  why.hidden = memoryId === null;
  if (memoryId === null) {
    view.mark(new Set(), "");
    tabs.querySelector(`a[data-memory="${CSS.escape(opened ?? "")}"]`)?.focus();
    return;
  }
  opened = memoryId;
  showView("memory");
  const panel = await whyPanel(memoryId, view);
  if (opened !== memoryId) return;
  why.replaceChildren(panel);
  panel.querySelector("h2").focus();
  byId("memory").scrollTop = 0;
  const first = panel.querySelector("[data-message]");
  if (first) await timeline.openMessage(first.dataset.message, { focus: false });
}

function backToMemory() {
  showView("memory");
  const places = byId("memory").querySelectorAll(".why h2, [role=tab][aria-selected=true]");
  [...places].find((place) => place.checkVisibility())?.focus();
}
