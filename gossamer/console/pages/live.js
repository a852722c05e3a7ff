/** Data that changes while a page is shown: server-sent events, or a request each few seconds. */

import { address } from "./api.js";
import { h, replace } from "./dom.js";

const POLL_SECONDS = 5;

/** Call *update* every few seconds until *signal* aborts, while the page is visible. Its errors are ignored. */
export function poll(update, signal) {
  const timer = setInterval(() => document.hidden || update().catch(() => {}), POLL_SECONDS * 1000);
  signal.addEventListener("abort", () => clearInterval(timer), { once: true });
}

/**
 * Return whether something in *place* has the focus or is selected, or a dialog will return the focus to it: to replace it would take
 * that away.
 */
export function isInUse(place) {
  if (document.querySelector("dialog[open]")) return true;
  const selection = getSelection();
  const isSelected = !selection.isCollapsed && place.contains(selection.anchorNode);
  return isSelected || (document.activeElement !== place && place.contains(document.activeElement));
}

/** Replace the content of *place*, unless it is in use. Opened details stay open. */
export function redraw(place, ...children) {
  if (isInUse(place)) return;
  const opened = [...place.querySelectorAll("details")].map((one) => one.open);
  replace(place, ...children);
  [...place.querySelectorAll("details")].forEach((one, index) => { one.open = opened[index] ?? one.open; });
}

/** Return an element with the content that *render* makes of the data of *load*, read again every few seconds. */
export async function live(load, render, signal) {
  const place = h("div", { class: "stack" });
  replace(place, render(await load()));
  poll(async () => redraw(place, render(await load())), signal);
  return place;
}

/**
 * Call *update* with each new event of *topic* until *signal* aborts. Without a stream of events,
 * *read* is called every few seconds instead, while the page is visible.
 */
export function follow(crawl, topic, update, read, signal) {
  const source = new EventSource(address("live", { crawl, topics: topic }));
  source.addEventListener(topic, (event) => update(JSON.parse(event.data)));
  signal.addEventListener("abort", () => source.close(), { once: true });
  poll(async () => { if (source.readyState !== EventSource.OPEN) await read(); }, signal);
}
