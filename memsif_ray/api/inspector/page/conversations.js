// The list of conversations.

import { el, plural, words } from "./dom.js";
import { listing } from "./listing.js";
import { day } from "./when.js";

export const hashOf = (conversationId, memoryId = "") =>
  `#/${encodeURIComponent(conversationId)}${memoryId && `/${encodeURIComponent(memoryId)}`}`;

export const conversationList = () =>
  listing("v1/conversations", { limit: 50 }, entry, {
    one: "conversation",
    empty: "No conversation yet. Send messages to POST /v1/memories, and look again.",
  });

function entry(conversation) {
  const id = conversation.conversation_id;
  const count = plural(conversation.messages, "message");
  const waiting = conversation.pending ? ` · ${conversation.pending} being digested` : "";
  return el("li", {},
    el("a", { href: hashOf(id), "data-conversation": id },
      words("span", { class: "name" }, id),
      el("span", { class: "small" }, `${count} · ${day(conversation.updated_at)}${waiting}`)));
}

/** Mark the one that is open. */
export function markCurrent(root, conversationId) {
  for (const link of root.querySelectorAll("a[data-conversation]")) {
    if (link.dataset.conversation === conversationId) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}
