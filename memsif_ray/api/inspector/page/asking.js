// Search and ask. Both only read: questions asked here are not learned from.

import { post } from "./api.js";
import { hashOf } from "./conversations.js";
import { el, faultNote, plural, say, words } from "./dom.js";
import { validity } from "./when.js";

const TOP = 10;

export function searchPanel(view) {
  return askingForm({
    id: "search-query", label: "Search memory", action: "Search", role: "search",
    hint: "What memory would show for these words, best first.",
    send: (query) => post("v1/search", { conversation_id: view.conversationId, query, top_k: TOP }),
    show: ({ results, pending }) => [
      summary(results.length ? plural(results.length, "result") : "Memory has nothing for this.", pending),
      evidence(results, view),
    ],
  });
}

export function askPanel(view) {
  return askingForm({
    id: "ask-question", label: "Ask memory", action: "Ask", role: null,
    hint: "An answer from memory. Asking here is not learned from.",
    send: (question) => post("v1/answer", { conversation_id: view.conversationId, question, learn: false }),
    show: (answer) => [reply(answer), evidence(answer.evidence, view)],
  });
}

function askingForm({ id, label, action, role, hint, send, show }) {
  const input = el("input", { id, type: "text", required: true, autocomplete: "off", dir: "auto", "aria-describedby": `${id}-hint` });
  const submit = el("button", { type: "submit", class: "primary" }, action);
  const out = el("div", { class: "outcome", "aria-live": "polite" });

  async function run(event) {
    event?.preventDefault();
    submit.disabled = true;
    out.replaceChildren(el("p", { class: "small" }, "Looking…"));
    try {
      out.replaceChildren(...show(await send(input.value)));
    } catch (fault) {
      out.replaceChildren(faultNote(fault, () => run()));
    }
    submit.disabled = false;
  }

  return el("div", {},
    el("form", { class: "asking", role, submit: run },
      el("label", { for: id }, label),
      el("div", { class: "line" }, input, submit),
      el("p", { class: "small", id: `${id}-hint` }, hint)),
    out);
}

function summary(text, pending) {
  const waiting = pending ? ` ${plural(pending, "write")} not digested yet.` : "";
  return el("p", { class: "small summary" }, text + waiting);
}

function reply(answer) {
  const { usage } = answer;
  const tokens = (usage.prompt_tokens + usage.completion_tokens).toLocaleString();
  const how = answer.sufficient ? "Stored facts were enough." : "Messages had to be read.";
  return el("div", { class: "reply" },
    answer.answer === null
      ? el("div", { class: "fault" }, "No answer that can be used: ", el("bdi", {}, answer.error))
      : words("p", { class: "answer" }, answer.answer),
    summary(`${how} ${plural(usage.model_calls, "model call")}, ${tokens} tokens.`, answer.pending));
}

function evidence(found, view) {
  if (!found.length) return "";
  return el("ol", { class: "plain" }, found.map((item) => foundEntry(item, view)));
}

function foundEntry(found, view) {
  const parts = Object.entries(found.score_parts).map(([name, value]) => `${name} ${value.toFixed(2)}`).join(", ");
  const kept = found.id.startsWith("mem_");
  const when = found.valid_from || found.valid_to ? ` · ${validity(found)}` : "";
  const text = kept
    ? words("a", { href: hashOf(view.conversationId, found.id) }, found.text)
    : words("span", { class: "quoted" }, found.text);
  return el("li", { class: "found" },
    el("p", {}, text),
    el("p", { class: "small" }, `${found.type} · score ${found.score.toFixed(2)}${parts && ` (${parts})`}${when}`),
    found.message_ids.length && !kept ? el("button", {
      type: "button", class: "quiet", click: () => showMessages(found, view),
    }, "Show in timeline") : null);
}

function showMessages(found, view) {
  view.mark(new Set(found.message_ids), found.text);
  view.openMessage(found.message_ids[0]);
  say(`${plural(found.message_ids.length, "message")} marked in the timeline`);
}
