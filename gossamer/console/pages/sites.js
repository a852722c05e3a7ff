/** Sites: searched and sorted by the server. */

import { getPage } from "./api.js";
import { field, h, siteLink } from "./dom.js";
import { number, words } from "./format.js";
import { override } from "./host.js";
import { ALL, ofCrawl } from "./hosts.js";
import { badge, filters, heading } from "./parts.js";
import { VirtualTable } from "./table.js";

/** Return the page. */
export async function show({ params, crawl, crawls, signal, go }) {
  const { search = "", sort = "", of = "" } = params;
  const query = { crawl: of === ALL ? "" : crawl, search, sort, ascending: sort === "site" ? true : "" };
  const list = new VirtualTable({
    label: "Sites",
    sort: sort || "hosts",
    sorted: (name) => go({ sort: name }),
    columns: [
      { name: "Site", sort: "site", ascending: true, cell: (site) => siteLink(site.site) },
      { name: "Hosts", sort: "hosts", numeric: true, cell: (site) => number(site.hosts) },
      { name: "Queued", sort: "queued", numeric: true, cell: (site) => number(site.queued) },
      { name: "Pages", sort: "pages", numeric: true, minor: true, cell: (site) => number(site.pages) },
      {
        name: "Refused URLs", sort: "refused_urls", numeric: true, minor: true,
        cell: (site) => h("span", { title: refusals(site.refused) }, number(sum(site.refused))),
      },
      { name: "Settings", minor: true, cell: (site) => override(site.override) },
      { name: "Notes", minor: true, cell: (site) => site.has_wildcard && badge("any name resolves", "warn") },
    ],
    load: (cursor) => getPage("sites", query, cursor, signal),
    empty: "No site matches.",
  });
  await list.loadMore();
  list.refresh(signal);
  const searched = h("input", {
    type: "search", value: search, spellcheck: "false", on: { change: (event) => go({ search: event.target.value }) },
  });
  return [
    heading("Sites"),
    filters(h("div", { class: "wide" }, field("Part of the name", searched)), ofCrawl(crawl, crawls, of, go)),
    list.element,
  ];
}

function sum(refused) {
  return Object.values(refused ?? {}).reduce((total, count) => total + count, 0);
}

/** Return refused URLs by rule in words. */
export function refusals(refused) {
  return Object.entries(refused ?? {}).map(([rule, count]) => `${words(rule).replace("urls", "URLs")}: ${number(count)}`).join(", ");
}
