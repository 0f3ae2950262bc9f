// Tabs as the ARIA practices describe them: one stop for Tab, arrows between them.

import { el } from "./dom.js";

/** @param {{id: string, label: string, content: Node}[]} tabs */
export function tabSet(label, tabs) {
  const handles = tabs.map(({ id, label: name }) =>
    el("button", { type: "button", role: "tab", id: `tab-${id}`, "aria-controls": `panel-${id}` }, name));
  const panels = tabs.map(({ id, content }) =>
    el("div", { role: "tabpanel", id: `panel-${id}`, "aria-labelledby": `tab-${id}` }, content));

  function select(chosen, focus = false) {
    handles.forEach((handle, index) => {
      handle.setAttribute("aria-selected", String(index === chosen));
      handle.tabIndex = index === chosen ? 0 : -1;
      panels[index].hidden = index !== chosen;
    });
    if (focus) handles[chosen].focus();
  }

  function onKey(event) {
    const now = handles.indexOf(event.target);
    const last = handles.length - 1;
    const goal = {
      ArrowRight: now === last ? 0 : now + 1,
      ArrowLeft: now === 0 ? last : now - 1,
      Home: 0,
      End: last,
    }[event.key];
    if (goal === undefined) return;
    event.preventDefault();
    select(goal, true);
  }

  handles.forEach((handle, index) => handle.addEventListener("click", () => select(index)));
  select(0);
  return el("div", { class: "tabs" },
    el("div", { role: "tablist", "aria-label": label, keydown: onKey }, handles), panels);
}
