// The line above the timeline that says which messages are marked, and for what.

import { button, el, plural } from "./dom.js";

/** @param {{openMessage: (id: string) => void, clear: () => void, back: () => void}} does */
export function makeSpotlight(does) {
  const root = el("div", { class: "spotlight", role: "region", "aria-label": "Marked evidence", hidden: true });

  function show(ids, text) {
    const list = [...ids];
    root.hidden = list.length === 0;
    if (root.hidden) return;
    let at = -1;
    const step = (by) => {
      at = (at + by + list.length) % list.length;
      does.openMessage(list[at]);
    };
    root.replaceChildren(
      el("p", {}, el("strong", {}, plural(list.length, "message")), " behind ", el("q", { dir: "auto" }, text)),
      el("div", { class: "line" },
        list.length > 1 ? button("Previous", () => step(at < 0 ? 0 : -1)) : null,
        button(list.length > 1 ? "Next" : "Show it", () => step(1)),
        button("Back to memory", does.back),
        button("Clear", does.clear)));
  }

  return { root, show };
}
