// The messages of a conversation, fetched from the start only as far as somebody looks.

import { pages } from "./api.js";

const PAGE = 200;

export function messageSource(conversationId) {
  const path = `v1/conversations/${encodeURIComponent(conversationId)}/messages`;
  const found = [];
  const placeOf = new Map();
  let source = pages(path, { limit: PAGE });
  let ended = false;
  let loading = Promise.resolve();

  async function next() {
    const { value: page } = await source.next();
    for (const message of page.results) {
      placeOf.set(message.id, found.length);
      found.push(message);
    }
    ended = page.next_cursor === null;
  }

  /** Until `enough()` holds or there are no more; one caller after the other. */
  function loadUntil(enough) {
    loading = loading.catch(() => {}).then(async () => {
      try {
        while (!ended && !enough()) await next();
      } catch (fault) {
        restart();
        throw fault;
      }
    });
    return loading;
  }

  function restart() {
    source = pages(path, { limit: PAGE });
    found.length = 0;
    placeOf.clear();
  }

  return {
    slice: (from, to) => found.slice(from, to),
    known: () => found.length,
    ended: () => ended,
    placeOf: (id) => placeOf.get(id),
    loadTo: (count) => loadUntil(() => found.length >= count),
    loadMessage: (id) => loadUntil(() => placeOf.has(id)),
  };
}
