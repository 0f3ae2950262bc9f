// One message.

import { button, el, words } from "./dom.js";
import { clock, longDay, moment } from "./when.js";

const LONG = 1200; // characters; beyond it the rest is shown on demand

/** @param {string} day on which its session began; a message of another day says so */
export function bubble(message, marked, day) {
  const tag = el("span", { class: "tag evidence" }, "evidence");
  const node = el("li", { class: "message", tabindex: "-1" },
    el("p", { class: "who" },
      el("bdi", { class: "speaker" }, message.name), " ",
      el("time", { datetime: message.timestamp, class: "small" }, (day === longDay(message.timestamp) ? clock : moment)(message.timestamp)), " ", tag),
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
