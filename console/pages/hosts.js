/** Hosts: searched and sorted by the server. */

import { getPage } from "./api.js";
import { field, h, hostLink, select, siteLink } from "./dom.js";
import { bytes, distance, duration, number, words } from "./format.js";
import { badge, filters, heading, KINDS } from "./parts.js";
import { VirtualTable } from "./table.js";

const CONDITIONS = ["", "ready", "delayed", "checked out", "backing off", "idle"];

/** Return the page. */
export async function show({ params, crawl, signal, go }) {
  const { search = "", condition = "", site = "", sort = "" } = params;
  // Names are sorted from A, figures from the largest.
  const query = { crawl, search, condition, site, sort, ascending: sort === "host" ? true : "" };
  const list = new VirtualTable({
    label: "Hosts",
    sort: sort || "queued",
    sorted: (name) => go({ sort: name }),
    columns: [
      { name: "Host", sort: "host", cell: (host) => hostLink(host.host) },
      { name: "Condition", cell: (host) => badge(words(host.condition), KINDS[host.condition]) },
      { name: "Waits", minor: true, cell: (host) => waits(host) },
      { name: "Queued", sort: "queued", numeric: true, cell: (host) => number(host.queued) },
      { name: "Pages", sort: "pages", numeric: true, cell: (host) => number(host.pages) },
      { name: "Received", sort: "received", numeric: true, minor: true, cell: (host) => bytes(host.received) },
      { name: "Delay", sort: "delay", numeric: true, minor: true, cell: (host) => (host.delay ? duration(host.delay) : "–") },
      { name: "Site", minor: true, cell: (host) => siteLink(host.site) },
    ],
    load: (cursor) => getPage("hosts", query, cursor, signal),
    empty: "No host matches.",
  });
  await list.loadMore();
  const searched = h("input", {
    type: "search", value: search, spellcheck: "false", on: { change: (event) => go({ search: event.target.value }) },
  });
  return [
    heading(site ? `Hosts of ${site}` : "Hosts"),
    filters(
      h("div", { class: "wide" }, field("Part of the name", searched)),
      field("Condition", select(CONDITIONS.map((name) => [name, name ? words(name) : "any"]), condition,
        (value) => go({ condition: value }))),
    ),
    list.element,
  ];
}

function waits(host) {
  if (host.condition === "backing off") return `${host.backoff_reason}, ${distance(host.ready_at)}`;
  return host.seconds_left ? `queue takes about ${duration(host.seconds_left)}` : "";
}
