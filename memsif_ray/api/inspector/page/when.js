// Times as people write them. One without an offset is the speaker's local time and is shown unchanged.

const DAY = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric" });
const MOMENT = new Intl.DateTimeFormat(undefined, {
  day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit",
});
const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const LONG = new Intl.DateTimeFormat(undefined, {
  weekday: "long", day: "numeric", month: "long", year: "numeric",
});

export const day = (iso) => DAY.format(new Date(iso));
export const clock = (iso) => CLOCK.format(new Date(iso));
export const moment = (iso) => MOMENT.format(new Date(iso));
export const longDay = (iso) => LONG.format(new Date(iso));
export const days = (from, to) => DAY.formatRange(new Date(from), new Date(to));

/** For how long something holds. */
export function validity({ valid_from: from, valid_to: to }) {
  if (from && to) return days(from, to);
  if (from) return `since ${day(from)}`;
  if (to) return `until ${day(to)}`;
  return "no time stated";
}
