// Facts with the time for which each holds.

import { hashOf } from "./conversations.js";
import { el, words } from "./dom.js";
import { listing } from "./listing.js";
import { validity } from "./when.js";

export function factsPanel(conversationId, structure) {
  const holder = el("div", {});
  const track = el("select", { id: "track", change: () => fill() },
    el("option", { value: "" }, "All facts"),
    el("option", { value: "core" }, "CoreFacts"),
    el("option", { value: "active" }, "ActiveFacts"));
  const retired = el("input", { type: "checkbox", id: "retired", change: () => fill() });

  function fill() {
    const query = {
      conversation_id: conversationId, limit: 50, track: track.value || null,
      status: retired.checked ? "all" : "active",
    };
    holder.replaceChildren(listing("v1/memories", query, (memory) => entry(memory, structure), {
      one: "fact", empty: "No fact of this kind.",
    }));
  }

  fill();
  return el("div", {},
    el("div", { class: "filters" },
      el("label", { for: "track", class: "unseen" }, "Kind of facts"), track,
      el("label", { class: "check" }, retired, " with retired ones")),
    holder);
}

function entry(memory, structure) {
  return el("li", { class: memory.status === "active" ? "fact" : "fact retired" },
    el("p", { class: "kicker" }, ...labels(memory)),
    el("h3", {}, words("a", { href: hashOf(memory.conversation_id, memory.id), "data-memory": memory.id }, memory.text)),
    el("p", { class: "small held" }, interval(memory, structure.span), el("span", {}, validity(memory))));
}

/** Whose fact it is, of which kind, and whether it is still in use. */
export function labels(memory) {
  const state = memory.status === "active" ? null : el("span", { class: "tag" }, memory.status);
  const kind = memory.track === "active" ? "ActiveFact" : memory.type;
  return [el("bdi", {}, memory.subject), ` · ${kind} `, state];
}

/** A bar on the time axis of the conversation; it says nothing that the words beside it do not. */
export function interval({ valid_from: from, valid_to: to }, span) {
  const bar = el("span", { class: "interval", "aria-hidden": "true" });
  if (!span || span.to <= span.from || !(from || to)) return bar;
  const share = (time) => Math.min(Math.max((Date.parse(time) - span.from) / (span.to - span.from), 0), 1);
  const left = from ? share(from) : 0;
  const width = Math.max((to ? share(to) : 1) - left, 0.03);
  const vars = { "--left": `${Math.min(left, 0.97) * 100}%`, "--width": `${width * 100}%` };
  bar.append(el("span", { class: to ? "" : "endless", vars }));
  return bar;
}
