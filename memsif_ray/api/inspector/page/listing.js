// A list that grows page by page at the reader's wish.

import { pages } from "./api.js";
import { button, el, faultNote, plural, say } from "./dom.js";

/**
 * @param {string} path of the API
 * @param {object} query of the request; `limit` is the size of a page
 * @param {(item: object) => Node} item makes one `<li>`
 * @param {{one: string, many?: string, empty: string}} names what is listed
 */
export function listing(path, query, item, names) {
  const list = el("ol", { class: "plain" });
  const foot = el("div", { class: "foot" });
  const root = el("div", {}, list, foot);
  const source = { pages: null };

  async function more(focus = false) {
    foot.replaceChildren(el("p", { class: "small" }, "Loading…"));
    source.pages ??= pages(path, query);
    try {
      add((await source.pages.next()).value, focus);
    } catch (fault) {
      source.pages = null; // a generator that has thrown is at its end: begin again
      list.replaceChildren();
      foot.replaceChildren(faultNote(fault, () => more(true)));
    }
  }

  function add(page, focus) {
    const added = page.results.map(item);
    list.append(...added);
    const count = list.children.length;
    const none = count ? null : el("p", { class: "small empty" }, names.empty);
    const rest = page.next_cursor === null ? none : button("Show more", () => more(true));
    foot.replaceChildren(rest ?? "");
    if (!focus) return;
    say(`${plural(count, names.one, names.many)} shown`);
    added[0]?.querySelector("a, button")?.focus();
  }

  root.ready = more();
  return root;
}
