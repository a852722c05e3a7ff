/** The overview: the state of the crawl in a sentence, its figures, and recent problems. */

import { crawlPath, get } from "./api.js";
import { bars, lines, meter } from "./chart.js";
import { h, hostLink, link, replace, urlLink } from "./dom.js";
import { bytes, distance, duration, number, percent, plural, words } from "./format.js";
import { follow } from "./live.js";
import { badge, details, heading, loaded, section, sentence, tiles } from "./parts.js";
import { facts, table } from "./table.js";

/** Return the page. */
export async function show({ crawl, signal }) {
  const read = () => Promise.all([
    get(crawlPath(crawl, "status"), {}, signal),
    get(crawlPath(crawl, "overview"), {}, signal),
  ]);
  const [status, overview] = await read();
  const live = h("div", { class: "stack" });
  const draw = (found, more) => replace(live, summary(more), figures(found, more));
  draw(status, overview);
  // Figures that are replaced under the focus would take it away.
  const redraw = (...found) => live.contains(document.activeElement) || draw(...found);
  follow(
    crawl, "overview", (changed) => redraw(status, changed), async () => redraw(...await read()), signal,
  );
  return [
    heading("Overview"),
    live,
    h("div", { class: "columns" },
      section("Pages by hour", pagesByHour(status)),
      loaded("Freshness", () => get(crawlPath(crawl, "freshness"), { weeks: 8 }, signal), freshness),
      section("Failures", failures(status)),
      section("Hosts", conditions(status)),
      section("Politeness", manners(overview.manners)),
      section("Lag of the services", lags(overview.lags)),
      section("Budgets and limits", budgetUse(overview.budgets), budgets(status)),
      section("Slowest and largest hosts", extremes(status)),
      section("Last visits", latest(status)),
    ),
  ];
}

function summary(overview) {
  const problems = overview.problems.filter((one) => one.text !== overview.answer);
  return [
    sentence(overview.answer),
    problems.length > 0 &&
      section("Needs attention", h("ul", { class: "steps" }, problems.map((one) =>
        h("li", {}, badge(one.kind, "warn"), " ", one.text)))),
  ];
}

function figures(status, overview) {
  const visits = Object.values(overview.outcomes).reduce((sum, count) => sum + count, 0);
  const failed = status.failures.reduce((sum, one) => sum + one.count, 0);
  const found = status.completeness;
  return tiles([
    ["Pages a second", number(overview.rate), overview.limit.text],
    ["Pages", number(overview.pages), plural(visits, "visit")],
    ["Queued", number(overview.queued),
      overview.seconds_left ? `about ${duration(overview.seconds_left)}` : `${number(overview.admitted)} admitted`],
    ["Received", bytes(overview.received)],
    ["Failures", percent(visits ? failed / visits : null), h("a", { href: link("failures") }, `${number(failed)} URLs`)],
    found && ["Found", percent(found.found.value), `of about ${number(found.total)} URLs`],
    ["Freshness", percent(overview.expected_freshness), "of copies, expected"],
    ["Dead letters", h("a", { href: link("dead-letters") }, number(status.dead_letters))],
  ].filter(Boolean));
}

function pagesByHour(status) {
  const hours = Object.entries(status.hours).sort(([a], [b]) => a - b).slice(-24);
  const labels = hours.map(([hour]) => `${new Date(hour * 3600e3).toISOString().slice(5, 16).replace("T", " ")}`);
  const series = ["new", "changed", "unchanged"].map((name, index) =>
    ({ name, values: hours.map(([, counts]) => counts[index]) }));
  return hours.length ? bars("Pages an hour (UTC)", labels, series, number) : h("p", { class: "empty" }, "No page yet.");
}

function freshness(found) {
  const known = (found.items ?? found).filter((one) => one.expected_freshness !== null);
  const days = known.sort((a, b) => a.at - b.at || String(a.day).localeCompare(b.day));
  if (!days.length) return h("p", { class: "empty" }, "No page was visited twice yet.");
  return lines(
    "Expected share of copies that equal their pages", days.map((one) => one.day),
    [{ name: "freshness", values: days.map((one) => one.expected_freshness) }], percent, 1,
  );
}

function failures(status) {
  const total = status.failures.reduce((sum, one) => sum + one.count, 0);
  return [
    table("Failures", [
      { name: "Failure", cell: (one) => one.label },
      { name: "Visits", numeric: true, cell: (one) => number(one.count) },
      { name: "Share", minor: true, cell: (one) => meter(one.count / total, percent(one.count / total)) },
    ], status.failures.slice(0, 8), "No visit has failed."),
    total > 0 && h("p", {}, h("a", { href: link("failures") }, "Examples and actions")),
  ];
}

function conditions(status) {
  const rows = Object.entries(status.conditions).filter(([, count]) => count);
  return [
    table("Hosts by condition", [
      { name: "Condition", cell: ([name]) => h("a", { href: link("hosts", { condition: name }) }, words(name)) },
      { name: "Hosts", numeric: true, cell: ([, count]) => number(count) },
    ], rows, "No host yet."),
    status.backing_off.length > 0 && details("First hosts that are visited again",
      table("Hosts that back off", [
        { name: "Host", cell: (host) => hostLink(host.host) },
        { name: "Until", cell: (host) => distance(host.ready_at) },
        { name: "Reason", cell: (host) => host.backoff_reason },
      ], status.backing_off)),
  ];
}

function lags(found) {
  return table("Lag", [
    { name: "Service", cell: (lag) => lag.service },
    { name: "Topic", minor: true, cell: (lag) => h("code", {}, lag.topic) },
    { name: "Records", numeric: true, cell: (lag) => number(lag.records) },
    { name: "Behind", numeric: true, cell: (lag) => `${lag.is_at_least ? "over " : ""}${duration(lag.seconds)}` },
  ], found.filter((lag) => lag.records), "Every service has consumed all records.");
}

function manners(found) {
  return facts([
    ["Courtesy delay", found.shortest_delay !== null && found.shortest_delay !== found.longest_delay
      ? `${duration(found.shortest_delay)} to ${duration(found.longest_delay)}` : duration(found.shortest_delay)],
    ["Delay doubled", `for ${plural(found.strained, "overloaded host")}`],
    ["429 or Retry-After", plural(found.busy, "response")],
    ["Backing off", h("a", { href: link("hosts", { condition: "backing off" }) }, plural(found.backing_off, "host"))],
    ["robots.txt", `${plural(found.robots_excluded, "URL")} excluded`],
  ]);
}

function budgetUse(found) {
  if (!found.length) return null;
  return table("Budgets", [
    { name: "Budget", cell: (one) => one.name },
    { name: "Used", numeric: true, cell: (one) => number(one.used) },
    { name: "Limit", numeric: true, cell: (one) => number(one.limit) },
    { name: "Share", minor: true, cell: (one) => one.used !== null && meter(one.used / one.limit, percent(one.used / one.limit)) },
  ], found);
}

function budgets(status) {
  const { definition, revisiting } = status;
  return facts([
    ["Scope", definition && h("code", { class: "remote" }, definition.scope)],
    ["Pages", definition?.max_pages ? `at most ${number(definition.max_pages)}` : "no limit"],
    ["Depth", definition && `at most ${plural(definition.max_depth, "link")} from a seed`],
    ["Speed", h("a", { href: link("speed") }, status.speeds.length ? plural(status.speeds.length, "limit") : "no limit")],
    ["Revisits", `${revisiting.policy || "none"}${revisiting.budget ? `, at most ${number(revisiting.budget)} a day` : ""}`],
    ["Planned", `${plural(revisiting.planned, "URL")}${revisiting.next_at ? `, ${due(revisiting.next_at)}` : ""}`],
    ["Blocklist", h("a", { href: link("blocklist") }, plural(status.blocklist_rules, "rule"))],
    ["Settings of sites", plural(status.overridden_sites, "site")],
    ["Age of copies", revisiting.expected_age !== null && duration(revisiting.expected_age)],
    ["Refused URLs", Object.entries(status.refused).map(([rule, count]) => `${words(rule)}: ${number(count)}`).join(", ")],
  ]);
}

function due(at) {
  return at * 1000 < Date.now() ? "some of them due now" : `the next ${distance(at)}`;
}

function extremes(status) {
  const columns = (name, format) => [
    { name: "Host", cell: ([key]) => hostLink(key) },
    { name, numeric: true, cell: ([, value]) => format(value) },
  ];
  const top = (found) => Object.entries(found).sort(([, a], [, b]) => b - a).slice(0, 5);
  return [
    table("Longest visit", columns("Longest visit", duration), top(status.slowest), "No visit yet."),
    table("Most bytes", columns("Received", bytes), top(status.largest), ""),
  ];
}

function latest(status) {
  return table("Last visits", [
    { name: "URL", cell: ([url]) => urlLink(url) },
    { name: "Outcome", cell: ([, outcome]) => words(outcome) },
  ], [...status.latest].reverse(), "No visit yet.");
}
