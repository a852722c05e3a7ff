/** Sites: their hosts, refused URLs and settings. */

import { getPage } from "./api.js";
import { field, h, siteLink } from "./dom.js";
import { number, words } from "./format.js";
import { override } from "./host.js";
import { badge, filters, heading } from "./parts.js";
import { VirtualTable } from "./table.js";

/** The most sites that the API returns: those with the most hosts. */
const MAX_SITES = 1000;

/** Return the page. */
export async function show({ params, crawl, signal, go }) {
  const { search = "" } = params;
  const list = new VirtualTable({
    label: "Sites",
    columns: [
      { name: "Site", cell: (site) => siteLink(site.site) },
      { name: "Hosts", numeric: true, cell: (site) => number(site.hosts) },
      { name: "Refused URLs", minor: true, cell: (site) => refusals(site.refused) },
      { name: "Settings", minor: true, cell: (site) => override(site.override) },
      { name: "Notes", minor: true, cell: (site) => site.has_wildcard && badge("any name resolves", "warn") },
    ],
    load: async (cursor) => {
      const page = await getPage("sites", { crawl, limit: MAX_SITES }, cursor, signal);
      const items = page.items.filter((site) => site.site.includes(search.toLowerCase()));
      return { ...page, items, total: items.length, isPartial: page.items.length === MAX_SITES };
    },
    empty: "No site matches.",
  });
  await list.loadMore();
  const searched = h("input", {
    type: "search", value: search, spellcheck: "false", on: { change: (event) => go({ search: event.target.value }) },
  });
  return [
    heading("Sites"),
    filters(h("div", { class: "wide" }, field("Part of the name", searched))),
    list.element,
  ];
}

/** Return refused URLs by rule in words. */
export function refusals(refused) {
  return Object.entries(refused ?? {}).map(([rule, count]) => `${words(rule)}: ${number(count)}`).join(", ");
}
