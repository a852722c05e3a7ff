/** Data that changes while a page is shown: server-sent events, or a request each few seconds. */

import { address } from "./api.js";

const POLL_SECONDS = 5;

/**
 * Call *update* with each new event of *topic* until *signal* aborts. Without a stream of events,
 * *poll* is called every few seconds instead, while the page is visible.
 */
export function follow(crawl, topic, update, poll, signal) {
  let timer = 0;
  const source = new EventSource(address("live", { crawl, topics: topic }));
  const stop = () => {
    source.close();
    clearInterval(timer);
  };
  const pollAgain = () => {
    if (!timer && !signal.aborted) {
      timer = setInterval(() => document.hidden || poll().catch(() => {}), POLL_SECONDS * 1000);
    }
  };
  source.addEventListener(topic, (event) => update(JSON.parse(event.data)));
  source.addEventListener("open", () => {
    clearInterval(timer);
    timer = 0;
  });
  source.addEventListener("error", pollAgain);
  signal.addEventListener("abort", stop, { once: true });
}
