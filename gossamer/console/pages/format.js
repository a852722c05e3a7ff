/** Figures and times for people. Times are shown in UTC, as in reports, logs and the speed grid. */

const WHOLE = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const DAY = 86400;

/** `1,234`; small numbers keep three digits. A dash stands for an unknown number. */
export function number(value) {
  if (value === null || value === undefined) return "–";
  if (Number.isInteger(value) || Math.abs(value) >= 100) return WHOLE.format(value);
  return String(Number(value.toPrecision(3)));
}

/** `1 page`, `2 pages`. */
export function plural(count, noun) {
  return `${number(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/** `12 kB`. */
export function bytes(value) {
  if (value === null || value === undefined) return "–";
  let unit = 0;
  let shown = value;
  while (shown >= 1000 && unit < 5) {
    shown /= 1000;
    unit += 1;
  }
  return `${number(shown)} ${["B", "kB", "MB", "GB", "TB", "PB"][unit]}`;
}

/** `37 %`; a share that is not 0 is not shown as 0. */
export function percent(share) {
  if (share === null || share === undefined) return "–";
  const shown = share * 100;
  if (shown > 0 && shown < 0.1) return "under 0.1 %";
  return `${shown < 10 ? Number(shown.toFixed(1)) : Math.round(shown)} %`;
}

/** `45 s`, `3 min`, `5 h`, `2 days`. */
export function duration(seconds) {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return "–";
  if (seconds < 1) return `${number(Number(seconds.toFixed(2)))} s`;
  if (seconds < 120) return `${number(Number(seconds.toFixed(seconds < 10 ? 1 : 0)))} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 2 * DAY) return `${Math.round(seconds / 3600)} h`;
  if (seconds > 1e6 * DAY) return "over 1,000,000 days";
  return `${WHOLE.format(Math.round(seconds / DAY))} days`;
}

/** `2026-11-27 13:05:09 UTC`; "" for no time. */
export function instant(at) {
  if (!at || !Number.isFinite(at) || Math.abs(at) > 8e12) return "";
  return `${new Date(at * 1000).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

/** `13:05:09 UTC` today, `2026-11-20 13:05 UTC` on other days. */
export function moment(at, now = Date.now() / 1000) {
  const text = instant(at);
  if (!text) return "–";
  const today = instant(now).slice(0, 10);
  return text.startsWith(today) ? text.slice(11) : `${text.slice(0, 16)} UTC`;
}

/** `3 min ago` or `in 3 min`. */
export function distance(at, now = Date.now() / 1000) {
  if (!at) return "–";
  const seconds = at - now;
  if (Math.abs(seconds) < 1) return "now";
  return seconds < 0 ? `${duration(-seconds)} ago` : `in ${duration(seconds)}`;
}

/** Return *text* with a capital at its start and a full stop at its end. */
export function capital(text) {
  const begun = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}

/** Return the name of a state for people: `backing_off` → `backing off`. */
export function words(name) {
  return String(name ?? "").replaceAll("_", " ");
}
