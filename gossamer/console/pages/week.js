/**
 * The weekly grid of speed limits, and the list of limits that it stands for.
 *
 * A grid is 7 lists of 24 limits, from Monday 00:00 UTC; a limit is `{pages, bytes}` with null for
 * none. See gossamer/speed.py for the times.
 */

export const DAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
export const NO_LIMIT = { pages: null, bytes: null };

/** Return a text that equal limits have in common. */
export function keyOf(limit) {
  return `${limit.pages ?? ""}/${limit.bytes ?? ""}`;
}

/** Return the days and the hours of the times *text*: `{days, begin, end}`, hours as fractions. */
export function parseWhen(text) {
  const words = text.trim().toLowerCase().split(/\s+/).filter(Boolean);
  let [begin, end] = [0, 0];
  const hours = /^(\d{1,2}):(\d\d)-(\d{1,2}):(\d\d)$/.exec(words.at(-1) ?? "");
  if (hours) {
    words.pop();
    [begin, end] = [Number(hours[1]) + hours[2] / 60, Number(hours[3]) + hours[4] / 60];
  }
  const days = new Set();
  for (const part of (words[0] ?? "mon-sun").split(",")) {
    const [first, last = first] = part.split("-").map((day) => DAYS.indexOf(day));
    for (let more = 0; more <= (last - first + 7) % 7; more += 1) days.add((first + more) % 7);
  }
  return { days, begin, end };
}

/** Return whether the times hold at an hour, a fraction, of a day from 0 (Monday). */
function holds({ days, begin, end }, day, hour) {
  if (begin < end) return days.has(day) && begin <= hour && hour < end;
  return (days.has((day + 6) % 7) && hour < end) || (days.has(day) && hour >= begin);
}

/** Return the grid of a list of *speeds*: in each cell, the limit at the start of the hour. */
export function gridOf(speeds) {
  const times = speeds.map((speed) => [parseWhen(speed.when), { pages: speed.pages ?? null, bytes: speed.bytes ?? null }]);
  return DAYS.map((_, day) => Array.from({ length: 24 }, (__, hour) =>
    times.find(([when]) => holds(when, day, hour))?.[1] ?? NO_LIMIT));
}

/** Return whether a limit begins or ends within an hour, which the grid cannot show. */
export function hasFractions(speeds) {
  return speeds.some((speed) => {
    const { begin, end } = parseWhen(speed.when);
    return begin % 1 !== 0 || end % 1 !== 0;
  });
}

/** Return the shortest list of limits of a *grid*. Their times do not overlap. */
export function speedsOf(grid) {
  const all = grid.flat();
  if (all.every((limit) => keyOf(limit) === keyOf(all[0]))) {
    return keyOf(all[0]) === keyOf(NO_LIMIT) ? [] : [{ when: "", ...all[0] }];
  }
  const found = new Map();
  grid.forEach((hours, day) => {
    for (const [begin, end, limit] of runs(hours)) {
      if (keyOf(limit) === keyOf(NO_LIMIT)) continue;
      const key = `${begin} ${end} ${keyOf(limit)}`;
      if (!found.has(key)) found.set(key, { begin, end, limit, days: [] });
      found.get(key).days.push(day);
    }
  });
  return [...found.values()].map(({ begin, end, limit, days }) => ({ when: whenText(days, begin, end), ...limit }));
}

/** Yield the first hour, the hour after the last, and the limit of hours with one limit. */
function* runs(hours) {
  let begin = 0;
  for (let hour = 1; hour <= 24; hour += 1) {
    if (hour < 24 && keyOf(hours[hour]) === keyOf(hours[begin])) continue;
    yield [begin, hour, hours[begin]];
    begin = hour;
  }
}

function whenText(days, begin, end) {
  const clock = (hour) => `${String(hour % 24).padStart(2, "0")}:00`;
  const named = days.length === 7 ? "" : dayText(days);
  const hours = begin === 0 && end === 24 ? "" : `${clock(begin)}-${clock(end)}`;
  return [named, hours].filter(Boolean).join(" ");
}

function dayText(days) {
  const parts = [];
  for (const day of days) {
    const part = parts.at(-1);
    if (part && part.at(-1) === day - 1) part.push(day);
    else parts.push([day]);
  }
  return parts.map((part) => (part.length > 1 ? `${DAYS[part[0]]}-${DAYS[part.at(-1)]}` : DAYS[part[0]])).join(",");
}
