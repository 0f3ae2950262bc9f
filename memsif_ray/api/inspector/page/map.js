// The picture of a conversation: topics as blocks in the order of time, threads hanging between them.

import { el, plural, svg } from "./dom.js";
import { segmentName } from "./structure.js";
import { day } from "./when.js";

const TOP = 26; // room for dates
const BLOCK = 22;
const LANE = 15;
const LEAST = 7; // width of a block that can still be hit
const GAP = 3;
const PAUSE = 14; // between sessions

/**
 * @param {object} structure of the conversation
 * @param {(segment: object) => void} open is called for a chosen block
 */
export function makeMap(structure, open) {
  const scroller = el("div", { class: "map-scroller" });
  const state = { blocks: [], cords: [], width: 0 };

  function draw() {
    const places = layOut(structure.segments, scroller.clientWidth || 640);
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
    }, svg("title", {}, label), svg("rect", { x, y: TOP, width, height: BLOCK, rx: Math.min(5, width / 2) }));
  }

  function light(number) {
    structure.threads.forEach((thread, i) =>
      state.cords[i].classList.toggle("lit", thread.places.includes(number)));
  }

  function dim() {
    for (const one of state.cords) one.classList.remove("lit");
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
  }

  draw();
  const watch = new ResizeObserver(() => (scroller.isConnected ? onResize() : watch.disconnect()));
  watch.observe(scroller);
  return { root: scroller, mark };
}

const begins = (segments, number) =>
  number === 0 || segments[number].began.slice(0, 10) !== segments[number - 1].began.slice(0, 10);

/** Left edges and widths: as wide as the topic is long, but never too small to hit. */
function layOut(segments, available) {
  const pauses = segments.filter((_, number) => number && begins(segments, number)).length;
  const fixed = pauses * PAUSE + segments.length * GAP;
  const messages = segments.reduce((sum, segment) => sum + segment.message_ids.length, 0) || 1;
  const scale = Math.max((available - fixed) / messages, 1.5);
  const places = [];
  let x = 0;
  segments.forEach((segment, number) => {
    if (number && begins(segments, number)) x += PAUSE;
    const width = Math.max(segment.message_ids.length * scale, LEAST);
    places.push({ x, width });
    x += width + GAP;
  });
  places.width = Math.max(Math.floor(x - GAP), 1);
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
    const room = places.width - x;
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
