/** One host: what it waits for and until when, its robots.txt, its queue, and its visits. */

import { crawlPath, get, getPage } from "./api.js";
import { changeButton } from "./dialog.js";
import { field, h, link, remote, siteLink, urlLink } from "./dom.js";
import { bytes, distance, duration, instant, moment, number, plural, words } from "./format.js";
import { eraseButton } from "./erasures.js";
import { live } from "./live.js";
import { badge, heading, KINDS, loaded, section, sentence, tiles } from "./parts.js";
import { facts, table, VirtualTable } from "./table.js";

/** Rules that mostly end earlier: an order is answered long before its lease expires. */
const LATEST = new Set(["lease"]);

/** URLs of the queue that are shown. */
const QUEUED = 50;

/** Lines of robots.txt that are shown, and the one that decides. */
const LINES = 200;

/** Return the page. */
export async function show({ params, crawl, signal, reload }) {
  const key = params.host ?? "";
  if (!key) return [heading("Host"), sentence("No host is named. ", h("a", { href: link("hosts") }, "Choose a host"), ".")];
  const read = () => get("host", { crawl, host: key }, signal);
  const found = await read();
  const { host } = found;
  return [
    heading(remote(key), ...actions(found, crawl, reload)),
    await live(read, state, signal),
    h("div", { class: "columns" },
      section("Settings", settings(found, host)),
      loaded("robots.txt", () => get("host/robots", { crawl, host: key, url: params.url }, signal), robots,
        "robots.txt was not read yet."),
      loaded("Queue", () => getPage(crawlPath(crawl, "queues"), { host: key, limit: QUEUED }, null, signal), queue),
    ),
    await timeline(key, crawl, signal),
  ];
}

/** Return what the host waits for, and its figures. */
function state(found) {
  const { host } = found;
  return [
    sentence(found.answer),
    tiles([
      ["Condition", words(host.shown_condition), host.ready_at > found.at ? `until ${moment(host.ready_at)}` : ""],
      ["Queued", number(host.queued), host.seconds_left ? `about ${duration(host.seconds_left)}` : ""],
      ["Pages", number(host.pages), plural(host.visits, "request")],
      ["Received", bytes(host.received)],
      ["Delay", host.delay ? duration(host.delay) : "–", host.delay_reason || "between two visits"],
    ]),
    found.closed_gates.length > 0 && section("Why it waits", gates(found)),
  ];
}

/** Return the rules that forbid a visit of a host now. Without one, the answer says what it waits for. */
export function gates(found) {
  return found.closed_gates.length > 0 && table("Closed gates", [
    { name: "Rule", cell: (gate) => words(gate.gate) },
    { name: "Reason", cell: (gate) => gate.reason },
    { name: "Until", cell: (gate) => (gate.until ? `${LATEST.has(gate.gate) ? "at the latest " : ""}${moment(gate.until)} (${distance(gate.until)})` : "not known") },
  ], found.closed_gates, "");
}

function settings(found, host) {
  const walls = Object.entries(host.walls ?? {}).map(([name, count]) => `${name}: ${number(count)}`).join(", ");
  return facts([
    ["Site", siteLink(host.site)],
    ["Blocked by", found.blocked_by && remote(found.blocked_by)],
    ["Visited instead", found.original && remote(found.original)],
    ["Set for the site", override(found.site_override)],
    ["Set for the host", override(found.host_override)],
    ["Strain", host.strain && `delay doubled ${host.strain === 1 ? "once" : `${host.strain} times`}`],
    ["Walls", walls],
    ["Signatures", host.signing],
    ["Order", host.order && h("code", {}, host.order)],
    ["Lease until", host.lease_until && instant(host.lease_until)],
  ]);
}

/** Return the settings of `gossamer site` in words. */
export function override(found) {
  if (!found) return "";
  return [
    found.off && "off",
    found.delay !== null && found.delay !== undefined && `${found.ours ? "exactly" : "at least"} ${duration(found.delay)} between two visits`,
    found.budget > 0 && `at most ${plural(found.budget, "visit")} a day to a host`,
    found.quiet_from !== found.quiet_until &&
      `quiet from ${clock(found.quiet_from)} to ${clock(found.quiet_until)} UTC`,
    found.certificate && "own certificate",
  ].filter(Boolean).join(", ");
}

function clock(seconds) {
  const minutes = Math.round(seconds / 60);
  return `${String(Math.floor(minutes / 60)).padStart(2, "0")}:${String(minutes % 60).padStart(2, "0")}`;
}

function robots(found) {
  const { summary } = found;
  const lines = found.lines.filter((line, index) => index < LINES || line.decides);
  return [
    found.answer && h("p", {}, found.answer),
    facts([
      ["Response", summary.status || "none"],
      ["Read", `${instant(summary.fetched_at)}, valid until ${instant(summary.expires_at)}`],
      ["All disallowed", summary.forbidden],
      ["Crawl-delay", summary.crawl_delay && duration(summary.crawl_delay)],
    ]),
    table("Rules", [
      { name: "Line", numeric: true, cell: (line) => line.line },
      { name: "Rule", cell: (line) => badge(line.allow ? "Allow" : "Disallow", line.allow ? "good" : "warn") },
      { name: "Pattern", cell: (line) => [remote(line.pattern), line.decides && " ← decides"] },
    ], lines, "No Allow or Disallow line applies to the crawler."),
    lines.length < summary.rules && h("p", { class: "hint" }, `${number(lines.length)} of ${number(summary.rules)} lines shown.`),
    found.text && h("details", {}, h("summary", {}, `The file as archived ${instant(found.text_at)}`),
      h("pre", { class: "text", tabindex: 0 }, found.text)),
  ];
}

function queue(page) {
  return table("Queue", [
    { name: "URL", cell: (item) => urlLink(item.url) },
    { name: "Rank", numeric: true, cell: (item) => (item.rank === null ? "again" : item.rank) },
    { name: "Depth", numeric: true, minor: true, cell: (item) => number(item.depth) },
  ], page.items, "Nothing of this crawl is queued.");
}

async function timeline(key, crawl, signal) {
  const found = await get("host/timeline", { crawl, host: key }, signal);
  const list = new VirtualTable({
    label: "Visits",
    columns: [
      { name: "Time", minor: true, cell: (visit) => h("span", { title: instant(visit.at) }, moment(visit.at)) },
      { name: "URL", cell: (visit) => urlLink(visit.url) },
      { name: "Outcome", cell: (visit) => badge(visit.text, KINDS[visit.outcome] ?? "bad") },
    ],
    load: async () => ({ items: found.visits, next: null, isPartial: found.is_partial }),
    empty: "No visit to a URL of this crawl is stored.",
  });
  await list.loadMore();
  return section("Last visit to each URL", list.element);
}

function actions(found, crawl, reload) {
  const { host } = found;
  return [
    changeButton("Retry", "operate", {
      title: "Retry the host", method: "POST", path: crawlPath(crawl, "retry"), body: () => ({ hosts: [host.host] }), verb: "Retry",
    }, reload),
    changeButton("Slow down", "operate all", () => slowDown(host, found.host_override?.at ?? 0), reload),
    changeButton("Block", "operate all", {
      title: "Block the host", danger: true, expires: true, method: "POST", path: "blocklist",
      body: () => ({ rules: [host.host] }), verb: "Block",
    }, reload, { class: "danger" }),
    eraseButton("host", host.host, reload),
  ];
}

function slowDown(host, setAt) {
  const delay = h("input", { type: "number", min: 0, step: "any", value: Math.max(1, 2 * (host.delay || 1)) });
  return {
    title: "Slow the host down", fields: [field("Seconds between two visits", delay)], expires: true,
    method: "PUT", path: `overrides/hosts/${encodeURIComponent(host.host.replace(/^https?:\/\//, "").replace(/:\d+$/, ""))}`,
    body: () => ({ delay: Number(delay.value) }), verb: "Set the delay", replaces: setAt,
  };
}
