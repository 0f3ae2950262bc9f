// The messages of a conversation, fetched from the start only as far as somebody looks.

import { get } from "./api.js";

const FIRST = 200; // a quick beginning
const THEN = 1000; // and few requests on the way to a message far inside

export function messageSource(conversationId) {
  const path = `v1/conversations/${encodeURIComponent(conversationId)}/messages`;
  const found = [];
  const placeOf = new Map();
  let cursor = null;
  let ended = false;
  let loading = Promise.resolve();

  async function next() {
    const page = await get(path, { limit: found.length ? THEN : FIRST, cursor });
    for (const message of page.results) {
      placeOf.set(message.id, found.length);
      found.push(message);
    }
    cursor = page.next_cursor;
    ended = cursor === null;
  }

  /** Until `enough()` holds or there are no more; one caller after the other, each failing for itself. */
  function loadUntil(enough) {
    loading = loading.catch(() => {}).then(async () => {
      while (!ended && !enough()) await next();
    });
    return loading;
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
