/** Hosts: searched and sorted by the server. */

import { getPage } from "./api.js";
import { field, h, hostLink, select, siteLink } from "./dom.js";
import { bytes, duration, moment, number, words } from "./format.js";
import { badge, filters, heading, KINDS } from "./parts.js";
import { VirtualTable } from "./table.js";

const CONDITIONS = ["", "ready", "delayed", "checked out", "backing off", "idle"];

/** The value of the parameter `of` for all crawls. */
export const ALL = "all";

/** Return the page. */
export async function show({ params, crawl, crawls, signal, go }) {
  const { search = "", condition = "", site = "", sort = "", of = "" } = params;
  // Names are sorted from A, figures from the largest.
  const query = { crawl: of === ALL ? "" : crawl, search, condition, site, sort, ascending: sort === "host" ? true : "" };
  const list = new VirtualTable({
    label: "Hosts",
    sort: sort || "queued",
    sorted: (name) => go({ sort: name }),
    columns: [
      { name: "Host", sort: "host", ascending: true, cell: (host) => hostLink(host.host) },
      { name: "Condition", cell: (host) => badge(words(host.shown_condition), KINDS[host.condition]) },
      { name: "Waits", minor: true, cell: (host) => h("span", { title: waits(host) }, waits(host)) },
      { name: "Queued", sort: "queued", numeric: true, cell: (host) => number(host.queued) },
      { name: "Pages", sort: "pages", numeric: true, minor: true, cell: (host) => number(host.pages) },
      { name: "Received", sort: "received", numeric: true, minor: true, cell: (host) => bytes(host.received) },
      { name: "Delay", sort: "delay", numeric: true, minor: true, cell: (host) => (host.delay ? duration(host.delay) : "–") },
      { name: "Site", minor: true, cell: (host) => siteLink(host.site) },
    ],
    load: (cursor) => getPage("hosts", query, cursor, signal),
    empty: "No host matches.",
  });
  await list.loadMore();
  list.refresh(signal);
  const searched = h("input", {
    type: "search", value: search, spellcheck: "false", on: { change: (event) => go({ search: event.target.value }) },
  });
  return [
    heading(site ? `Hosts of ${site}` : "Hosts"),
    filters(
      h("div", { class: "wide" }, field("Part of the name", searched)),
      field("Condition", select(CONDITIONS.map((name) => [name, name ? words(name) : "any"]), condition,
        (value) => go({ condition: value }))),
      ofCrawl(crawl, crawls, of, go),
    ),
    list.element,
  ];
}

/** Return the choice between the hosts, sites or changes of the chosen crawl and all of them. */
export function ofCrawl(crawl, crawls, of, go, label = "With URLs of") {
  if (crawls.length < 2) return null;
  return field(label, select([["", `the crawl ${crawl}`], [ALL, "any crawl"]], of, (value) => go({ of: value })));
}

function waits(host) {
  if (host.condition === "backing off") return `${host.backoff_reason}, ${host.ready_at * 1000 > Date.now() ? "until" : "due since"} ${moment(host.ready_at)}`;
  return host.seconds_left ? `queue: about ${duration(host.seconds_left)}` : "";
}
