// The picture of a conversation: topics as blocks in the order of time, threads hanging between them.

import { el, plural, svg } from "./dom.js";
import { segmentName } from "./structure.js";
import { day } from "./when.js";

const TOP = 26; // room for dates
const BLOCK = 22;
const LANE = 15;
const LEAST = 6; // width of a block that can still be hit
const GAP = 3;
const PAUSE = 14; // between sessions
const EDGE = 4; // padding of the scroller, for the outline of the focus
const HINT = "Choose a topic to read it; its thread lights up.";

/**
 * @param {object} structure of the conversation
 * @param {(segment: object) => void} open is called for a chosen block
 */
export function makeMap(structure, open) {
  const scroller = el("div", { class: "map-scroller" });
  const caption = el("p", { class: "small caption", "aria-hidden": "true" });
  const state = { blocks: [], cords: [], width: 0 };

  function draw() {
    const places = layOut(structure.segments, (scroller.clientWidth || 640) - 2 * EDGE);
    const height = TOP + BLOCK + structure.lanes * LANE + 18;
    state.blocks = structure.segments.map((segment, number) => block(segment, number, places[number]));
    state.cords = structure.threads.map((thread) => cord(thread, places));
    const picture = svg("svg", {
      class: "map", width: places.width, height, role: "group", keydown: onKey, click: onClick,
      "aria-label": "Map of topics. Arrow keys move between topics, Enter shows one in the timeline.",
    }, dates(structure.segments, places), state.cords, state.blocks);
    if (state.blocks[0]) state.blocks[0].setAttribute("tabindex", "0");
    scroller.replaceChildren(picture);
  }

  function block(segment, number, { x, width }) {
    const threads = structure.threadsAt[number].map((thread) => thread.name).join("; ");
    const label = `Topic ${number + 1} of ${structure.segments.length}: ${segmentName(segment)}, ` +
      `${day(segment.began)}, ${plural(segment.message_ids.length, "message")}` +
      (threads && `, in the thread ${threads}`);
    return svg("g", {
      class: segment.open ? "block open" : "block", role: "button", tabindex: "-1", "aria-label": label,
      "data-number": number, focus: () => light(number), blur: dim,
      pointerenter: () => light(number), pointerleave: dim,
    }, svg("rect", { x, y: TOP, width, height: BLOCK, rx: Math.min(5, width / 2) }));
  }

  function light(number) {
    const segment = structure.segments[number];
    const names = structure.threadsAt[number].map((thread) => ` · thread ${thread.name}`).join("");
    caption.textContent = `${segmentName(segment)} · ${day(segment.began)}${names}`;
    lightThreads((place) => place === number);
  }

  /** Without a topic under the pointer, the threads of the marked ones stay lit. */
  function dim() {
    caption.textContent = HINT;
    lightThreads((place) => state.blocks[place].classList.contains("marked"));
  }

  function lightThreads(isChosen) {
    structure.threads.forEach((thread, i) =>
      state.cords[i].classList.toggle("lit", thread.places.some(isChosen)));
  }

  function onClick(event) {
    const chosen = event.target.closest(".block");
    if (chosen) open(structure.segments[Number(chosen.dataset.number)]);
  }

  function onKey(event) {
    const now = Number(event.target.dataset.number);
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      open(structure.segments[now]);
      return;
    }
    const last = state.blocks.length - 1;
    const goal = { ArrowRight: now + 1, ArrowLeft: now - 1, Home: 0, End: last }[event.key];
    if (goal === undefined || goal < 0 || goal > last) return;
    event.preventDefault();
    state.blocks[now].setAttribute("tabindex", "-1");
    state.blocks[goal].setAttribute("tabindex", "0");
    state.blocks[goal].focus();
  }

  function onResize() {
    const width = scroller.clientWidth;
    if (width === state.width || scroller.contains(document.activeElement)) return;
    state.width = width;
    draw();
    mark();
  }

  let marked = new Set();

  /** Mark the topics of some messages. */
  function mark(messageIds = marked) {
    marked = messageIds;
    state.blocks.forEach((one, number) => {
      const here = structure.segments[number].message_ids.some((id) => marked.has(id));
      one.classList.toggle("marked", here);
    });
    dim();
    showMarked(state.blocks.find((one) => one.classList.contains("marked")));
  }

  /** Scroll sideways only: the page itself stays where the reader is. */
  function showMarked(one) {
    if (!one) return;
    const box = one.getBoundingClientRect();
    const frame = scroller.getBoundingClientRect();
    if (box.left < frame.left || box.right > frame.right) scroller.scrollLeft += box.left - frame.left - frame.width / 2;
  }

  draw();
  dim();
  const watch = new ResizeObserver(() => (scroller.isConnected ? onResize() : watch.disconnect()));
  watch.observe(scroller);
  return { root: el("div", {}, scroller, structure.segments.length ? caption : null), mark };
}

const begins = (segments, number) =>
  number === 0 || segments[number].began.slice(0, 10) !== segments[number - 1].began.slice(0, 10);

/** Left edges and widths: what is left of the room is shared out by length. */
function layOut(segments, available) {
  const pauses = segments.filter((_, number) => number && begins(segments, number)).length;
  const fixed = pauses * PAUSE + segments.length * (LEAST + GAP) - GAP;
  const messages = segments.reduce((sum, segment) => sum + segment.message_ids.length, 0) || 1;
  const scale = Math.max(available - fixed, 0) / messages;
  const places = [];
  let x = 0;
  segments.forEach((segment, number) => {
    if (number && begins(segments, number)) x += PAUSE;
    const width = LEAST + segment.message_ids.length * scale;
    places.push({ x, width });
    x += width + GAP;
  });
  places.width = Math.max(Math.round(x - GAP), 1);
  return places;
}

/** A thread hangs from block to block: down to its lane, along it, and up again. */
function cord(thread, places) {
  const middle = (place) => places[place].x + places[place].width / 2;
  const top = TOP + BLOCK;
  const low = top + (thread.lane + 1) * LANE;
  const parts = thread.places.slice(1).map((to, i) => hanging(middle(thread.places[i]), middle(to), top, low));
  const knots = thread.places.map((place) => svg("circle", { cx: middle(place), cy: top, r: 3 }));
  return svg("g", { class: "cord", "aria-hidden": "true" }, svg("path", { d: parts.join(" ") }), knots);
}

function hanging(from, to, top, low) {
  const bend = Math.min(26, (to - from) / 2);
  return `M${from} ${top} C${from} ${low} ${from} ${low} ${from + bend} ${low}` +
    ` L${to - bend} ${low} C${to} ${low} ${to} ${low} ${to} ${top}`;
}

/** The day on which a session begins, where there is room for it. */
function dates(segments, places) {
  let free = 0;
  return segments.flatMap((segment, number) => {
    const { x } = places[number];
    const room = places.width - x; // some 74 pixels are a date
    if (!begins(segments, number) || x < free || room < 74) return [];
    free = x + 84;
    return [svg("text", { x, y: 13, "aria-hidden": "true" }, day(segment.began))];
  });
}

/** The same as a list: every thread with its topics, for those who do not see the picture. */
export function threadList(structure, open) {
  if (!structure.threads.length) return el("p", { class: "small" }, "No thread joins two topics yet.");
  const link = (place) => {
    const segment = structure.segments[place];
    return el("li", {}, el("button", { type: "button", class: "link", click: () => open(segment) }, day(segment.began)));
  };
  const threads = structure.threads.map((thread) =>
    el("li", {}, el("bdi", { class: "name" }, thread.name), el("ol", { class: "stations" }, thread.places.map(link))));
  return el("details", { class: "threads" },
    el("summary", {}, plural(threads.length, "thread"), " across topics"),
    el("ol", { class: "plain" }, threads));
}
