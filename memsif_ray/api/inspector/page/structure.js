// What memory has built over a conversation: its segments and the threads that join them.

import { all } from "./api.js";

/** Load it; `segments` are in order, `threads` are trajectories of more than one segment. */
export async function loadStructure(conversationId) {
  const query = { conversation_id: conversationId };
  const [segments, trajectories] = await Promise.all([
    all("v1/segments", query),
    all("v1/trajectories", query),
  ]);
  return arranged(segments, trajectories);
}

function arranged(segments, trajectories) {
  segments.sort((one, other) => one.start - other.start);
  const index = new Map(segments.map((segment, number) => [segment.id, number]));
  const segmentOf = new Map(segments.flatMap((s) => s.message_ids.map((id) => [id, s])));
  const threads = trajectories
    .map((trajectory) => ({ ...trajectory, places: placesOf(trajectory, index) }))
    .filter((thread) => thread.places.length > 1)
    .sort((one, other) => one.places[0] - other.places[0])
    .map((thread, number) => ({ ...thread, name: threadName(thread, number), lane: 0 }));
  const lanes = intoLanes(threads);
  const threadsAt = segments.map((_, place) => threads.filter((thread) => thread.places.includes(place)));
  return { segments, segmentOf, index, threads, threadsAt, lanes, span: spanOf(segments) };
}

const placesOf = (trajectory, index) =>
  trajectory.segment_ids.map((id) => index.get(id)).filter((place) => place !== undefined).sort((a, b) => a - b);

export const threadName = (thread, number = 0) => thread.entities.slice(0, 3).join(", ") || `Thread ${number + 1}`;

/** Give each thread the first lane that is free where it begins; returns how many lanes there are. */
function intoLanes(threads) {
  const ends = [];
  for (const thread of threads) {
    const free = ends.findIndex((end) => end < thread.places[0]);
    thread.lane = free < 0 ? ends.length : free;
    ends[thread.lane] = thread.places.at(-1);
  }
  return ends.length;
}

/** First and last moment of the conversation, in milliseconds; null when it has no segments. */
function spanOf(segments) {
  if (!segments.length) return null;
  const times = segments.flatMap(({ began, ended }) => [Date.parse(began), Date.parse(ended)]);
  return { from: times.reduce((a, b) => Math.min(a, b)), to: times.reduce((a, b) => Math.max(a, b)) };
}

export const segmentName = (segment) => segment.entities.slice(0, 4).join(", ") || "Untitled topic";
