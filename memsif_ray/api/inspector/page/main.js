// Where the reader is stands in the address: #/, #/conversation, #/conversation/fact.

import { key } from "./api.js";
import { openConversation, showView } from "./conversation.js";
import { conversationList, markCurrent } from "./conversations.js";
import { byId, faultNote, say } from "./dom.js";

const state = { conversationId: null, showFact: null, visit: 0 };

function place() {
  const parts = location.hash.replace(/^#\/?/, "").split("/").filter(Boolean);
  try {
    const [conversationId = null, memoryId = null] = parts.map(decodeURIComponent);
    return { conversationId, memoryId };
  } catch {
    return { conversationId: null, memoryId: null }; // an address that somebody mistyped
  }
}

async function go() {
  const { conversationId, memoryId } = place();
  const visit = ++state.visit;
  if (conversationId !== state.conversationId) {
    if (conversationId === null) leave();
    else await enter(conversationId, visit, memoryId !== null);
  }
  if (visit === state.visit && state.showFact) await state.showFact(memoryId);
}

function leave() {
  Object.assign(state, { conversationId: null, showFact: null });
  document.title = "MemSIF Inspector";
  arrange(false);
  markCurrent(byId("conversations"), null);
  byId("conversations-title").focus();
}

async function enter(conversationId, visit, toFact) {
  Object.assign(state, { conversationId, showFact: null });
  document.title = `${conversationId} · MemSIF Inspector`;
  markCurrent(byId("conversations"), conversationId);
  arrange(true);
  byId("memory").replaceChildren();
  byId("conversation").textContent = "Loading…";
  try {
    const showFact = await openConversation(conversationId);
    if (visit !== state.visit) return;
    state.showFact = showFact;
  } catch (fault) {
    state.conversationId = null;
    byId("conversation").replaceChildren(faultNote(fault, go));
    return;
  }
  if (!toFact) byId("conversation").querySelector("h1").focus();
  window.scrollTo(0, 0);
  byId("reading").scrollTop = 0;
}

function arrange(isOpen) {
  byId("welcome").hidden = isOpen;
  byId("conversation").hidden = !isOpen;
  byId("memory").hidden = !isOpen;
  byId("views").hidden = !isOpen;
  document.body.classList.toggle("is-open", isOpen);
  if (isOpen) showView("timeline");
}

async function start() {
  byId("forget-key").hidden = key.get() === "";
  const list = conversationList();
  byId("conversations").replaceChildren(list);
  await list.ready;
  state.conversationId = null;
  await go();
  markCurrent(byId("conversations"), state.conversationId);
}

function wantKey() {
  if (!byId("key-form").hidden) return; // several requests may have been refused at once
  const refused = key.get() !== "";
  key.forget();
  byId("forget-key").hidden = true;
  byId("frame").hidden = true;
  byId("views").hidden = true;
  byId("key-form").hidden = false;
  byId("key-fault").textContent = refused ? "The server does not know this key." : "";
  byId("key").focus();
}

byId("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  key.set(byId("key").value.trim());
  byId("key").value = "";
  byId("key-form").hidden = true;
  byId("frame").hidden = false;
  start();
});

byId("forget-key").addEventListener("click", () => {
  key.forget();
  location.hash = "#/";
  wantKey();
  say("The API key is forgotten");
});

byId("views").addEventListener("click", (event) => {
  const { view } = event.target.dataset;
  if (view) showView(view);
});

byId("skip").addEventListener("click", (event) => {
  event.preventDefault(); // the address says where the reader is, so it cannot hold an anchor
  byId("main").focus();
});

document.addEventListener("key-wanted", wantKey);
window.addEventListener("hashchange", go);
start();
