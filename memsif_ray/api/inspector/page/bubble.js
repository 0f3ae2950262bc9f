// One message.

import { button, el, words } from "./dom.js";
import { moment } from "./when.js";

const LONG = 1200; // characters; beyond it the rest is shown on demand
const HUES = 6;

export function bubble(message, marked) {
  const tag = el("span", { class: "tag evidence" }, "evidence");
  const node = el("li", { class: "message", tabindex: "-1", "data-voice": voice(message.name) },
    el("p", { class: "who" },
      el("bdi", { class: "speaker" }, message.name), " ",
      el("time", { datetime: message.timestamp, class: "small" }, moment(message.timestamp)), " ", tag),
    textOf(message.content));
  node.mark = (on) => {
    node.classList.toggle("marked", on);
    tag.hidden = !on;
  };
  node.mark(marked);
  return node;
}

/** What was said; a long text is cut between two characters as a reader sees them. */
export function textOf(content) {
  const paragraph = words("p", { class: "said" }, content);
  if (content.length <= LONG) return paragraph;
  paragraph.textContent = `${beginning(content)}…`;
  const rest = button(`Show all ${content.length.toLocaleString()} characters`, () => {
    paragraph.textContent = content;
    paragraph.tabIndex = -1;
    paragraph.focus();
    rest.remove();
  });
  return el("div", {}, paragraph, rest);
}

function beginning(content) {
  let end = 0;
  for (const { index } of new Intl.Segmenter().segment(content.slice(0, LONG + 40))) {
    if (index > LONG) break;
    end = index;
  }
  return content.slice(0, end);
}

/** A small number by which two speakers can be told apart, beside their names. */
function voice(name) {
  let sum = 0;
  for (const character of name) sum = (sum * 31 + character.codePointAt(0)) % 997;
  return sum % HUES;
}
