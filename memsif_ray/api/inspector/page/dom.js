// Elements are made here and nowhere else. Text becomes text nodes; nothing is ever parsed as markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (typeof value === "function") node.addEventListener(name, value);
    else if (name === "vars") for (const [key, v] of Object.entries(value)) node.style.setProperty(key, v);
    else if (typeof value === "boolean") node.toggleAttribute(name, value);
    else if (value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

/** An HTML element. Functions among the properties are event listeners; `vars` are CSS custom properties. */
export const el = (name, properties = {}, ...children) =>
  fill(document.createElement(name), properties, children);

/** The same in SVG. */
export const svg = (name, properties = {}, ...children) =>
  fill(document.createElementNS(SVG, name), properties, children);

/** Words of people or models: their direction is their own. */
export const words = (name, properties, text) => el(name, { dir: "auto", ...properties }, text);

export const button = (label, click, properties = {}) =>
  el("button", { type: "button", class: "quiet", click, ...properties }, label);

export const byId = (id) => document.getElementById(id);

export const plural = (count, one, many = `${one}s`) =>
  `${count.toLocaleString()} ${count === 1 ? one : many}`;

/** Tell a screen reader what has changed elsewhere on the page. */
export function say(text) {
  byId("announcer").textContent = text;
}

/** An error as a message, with the request id to look for in the server's log, and a way to try again. */
export function faultNote(fault, again = null) {
  const id = fault.requestId ? el("p", { class: "small" }, "Request id ", el("code", {}, fault.requestId)) : null;
  return el("div", { class: "fault", role: "alert" },
    words("p", {}, fault.message), id, again && button("Try again", again));
}
