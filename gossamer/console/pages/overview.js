/** The overview: the state of the crawl in a sentence, its figures, and recent problems. */

import { crawlPath, get } from "./api.js";
import { bars, lines, meter } from "./chart.js";
import { may } from "./dialog.js";
import { h, hostLink, link, urlLink } from "./dom.js";
import { ALL } from "./hosts.js";
import { bytes, distance, duration, instant, number, percent, plural, words } from "./format.js";
import { follow, poll, redraw } from "./live.js";
import { badge, heading, loaded, section, sentence, tiles } from "./parts.js";
import { facts, table } from "./table.js";

/** Sections with the data of the overview, which is live. */
const LIVE = [
  ["Pages by hour", pagesByHour], ["Failures", failures], ["Hosts of all crawls", conditions], ["Politeness", politeness],
  ["Lag of the services", lags], ["Budgets", budgets],
];
/** Sections with the data of the status, which is read every few seconds. */
const READ = [["Limits", limits], ["Slowest and largest hosts", extremes], ["Last visits", latest]];

/** Return the page. */
export async function show({ crawl, crawls, signal }) {
  const read = (name) => get(crawlPath(crawl, name), {}, signal);
  let [overview, status] = await Promise.all([read("overview"), read("status")]);
  const top = new Place("", (found) => [summary(found), figures(found, status)]);
  const isOnly = crawls.length < 2;
  const live = LIVE.map(([title, render]) => new Place(isOnly ? title.replace(" of all crawls", "") : title, render));
  const others = READ.map(([title, render]) => new Place(title, render));
  const draw = (places, found) => places.forEach((place) => place.draw(found));
  draw([top, ...live], overview);
  draw(others, status);
  const update = (found) => {
    overview = found;
    draw([top, ...live], overview);
  };
  follow(crawl, "overview", update, async () => update(await read("overview")), signal);
  poll(async () => {
    status = await read("status");
    draw(others, status);
  }, signal);
  return [
    heading("Overview"),
    top.element,
    h("div", { class: "columns" },
      live.map((place) => section(place.title, place.element)),
      loaded("Freshness", () => get(crawlPath(crawl, "freshness"), { weeks: 8 }, signal), freshness),
      others.map((place) => section(place.title, place.element)),
    ),
  ];
}

/** A part of the page that is drawn again when its data changes. */
class Place {
  constructor(title, render) {
    Object.assign(this, { title, render, element: h("div", { class: "stack" }) });
  }

  draw(found) {
    redraw(this.element, this.render(found));
  }
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

function figures(overview, status) {
  const visits = Object.values(overview.outcomes).reduce((sum, count) => sum + count, 0);
  const lately = status.new_urls_lately;
  return tiles([
    ["Pages a second", number(overview.rate)],
    ["Pages", number(overview.pages), plural(visits, "visit")],
    ["Queued URLs", number(overview.queued),
      overview.seconds_left ? `about ${duration(overview.seconds_left)} left` : `${number(overview.admitted)} admitted`],
    ["Received", bytes(overview.received)],
    ["Failed visits", percent(visits ? overview.failed / visits : null),
      h("a", { href: link("failures") }, plural(overview.failed, "visit"))],
    ["Visited URLs", number(status.visited), `${number(status.unvisited)} to visit`],
    lately !== null && ["New URLs lately", number(Math.round(lately)), "per 100 visits"],
    ["Freshness", percent(overview.expected_freshness),
      overview.expected_freshness === null ? "needs planned revisits, and two visits to most pages" : "of copies, expected"],
    ["Dead letters", may("view all") ? h("a", { href: link("dead-letters") }, number(overview.dead_letters)) : number(overview.dead_letters)],
  ].filter(Boolean));
}

function pagesByHour({ hours }) {
  const labels = hours.map((hour) => instant(hour.at).slice(5, 16));
  const series = ["new", "changed", "unchanged"].map((name) => ({ name, values: hours.map((hour) => hour[name]) }));
  return hours.length ? bars("Pages an hour (UTC)", labels, series, number) : h("p", { class: "empty" }, "No new, changed or unchanged page in the last 24 hours.");
}

function freshness(found) {
  const known = (found.items ?? found).filter((one) => one.expected_freshness !== null);
  const days = known.sort((a, b) => a.at - b.at || String(a.day).localeCompare(b.day));
  if (!days.length) {
    return h("p", { class: "empty" }, "Not known for the last 8 weeks. It needs planned revisits, and two visits to most pages.");
  }
  return lines(
    "Expected share of copies that equal their pages", days.map((one) => one.day),
    [{ name: "freshness", values: days.map((one) => one.expected_freshness) }], percent, 1,
  );
}

function failures({ failures: found }) {
  return [
    table("Failures", [
      { name: "Failure", cell: (one) => one.label },
      { name: "Count", numeric: true, cell: (one) => number(one.count) },
    ], found, "No failure is counted."),
    found.length > 0 && h("p", {}, h("a", { href: link("failures") }, "Examples and actions")),
  ];
}

/** Condition of a host when the last run ended → the word for it while no crawl runs. */
const STOPPED_WORDS = { "checked out": "interrupted", delayed: "waiting" };

function conditions({ conditions: found, is_running: isRunning }) {
  const shown = (name) => words((isRunning === false && STOPPED_WORDS[name]) || name);
  return table("Hosts by condition", [
    { name: "Condition", cell: ([name]) => h("a", { href: link("hosts", { condition: name, of: ALL }) }, shown(name)) },
    { name: "Hosts", numeric: true, cell: ([, count]) => number(count) },
  ], Object.entries(found), "No host yet.");
}

function lags({ lags: found }) {
  return table("Lag", [
    { name: "Service", cell: (lag) => lag.service },
    { name: "Topic", cell: (lag) => h("code", {}, lag.topic) },
    { name: "Records", numeric: true, minor: true, cell: (lag) => number(lag.records) },
    { name: "Behind", numeric: true, cell: (lag) => behind(lag) },
  ], found, "No service has consumed a record yet.");
}

/** Return the age of the oldest record: a lower bound until the console has run for longer. */
function behind(lag) {
  if (lag.seconds === null || (lag.is_at_least && lag.seconds < 1)) return "not known yet";
  return lag.is_at_least ? `over ${duration(lag.seconds)}` : duration(Math.round(lag.seconds));
}

function politeness({ politeness: found }) {
  return facts([
    ["Courtesy delay", found.shortest_delay !== null && found.shortest_delay !== found.longest_delay
      ? `${duration(found.shortest_delay)} to ${duration(found.longest_delay)}` : duration(found.shortest_delay)],
    ["Delay doubled", `for ${plural(found.strained, "overloaded host")}`],
    ["429 or Retry-After", plural(found.busy, "response")],
    ["Backing off", h("a", { href: link("hosts", { condition: "backing off", of: ALL }) }, plural(found.backing_off, "host"))],
    ["robots.txt", `${plural(found.robots_excluded, "URL")} excluded`],
  ]);
}

function budgets({ budgets: found }) {
  return table("Budgets", [
    { name: "Budget", cell: (one) => one.name },
    { name: "Used", numeric: true, cell: (one) => number(one.used) },
    { name: "Limit", numeric: true, cell: (one) => number(one.limit) },
    { name: "Share", minor: true, cell: (one) => one.used !== null && meter(one.used / one.limit, percent(one.used / one.limit)) },
  ], found, "The crawl has no limit of pages, of visits a day, or of pages a second now.");
}

function limits(status) {
  const { definition, revisiting } = status;
  // The frontier reports its policy when it has read the definition, so not while no crawl runs.
  const { revisit: policy = "none", budget = 0 } = definition ?? {};
  return facts([
    ["Scope", definition && h("code", { class: "remote" }, definition.scope)],
    ["Pages", definition?.max_pages ? `at most ${number(definition.max_pages)}` : "no limit"],
    ["Depth", definition && `at most ${plural(definition.max_depth, "link")} from a seed`],
    ["Speed", h("a", { href: link("speed") }, status.speeds.length ? plural(status.speeds.length, "limit") : "no limit")],
    ["Revisits", `${policy}${budget ? `, at most ${number(budget)} a day` : ""}`],
    ["Planned", `${plural(revisiting.planned, "URL")}${revisiting.next_at ? `, ${due(revisiting.next_at)}` : ""}`],
    ["Blocklist", h("a", { href: link("blocklist") }, plural(status.blocklist_rules, "rule"))],
    ["Settings", `${plural(status.overridden_sites, "site")}, ${plural(status.overridden_hosts, "host")}`],
    ["Age of copies", revisiting.expected_age !== null && duration(revisiting.expected_age)],
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
    table("Hosts with the longest visits", columns("Longest visit", duration), top(status.slowest), "No visit to show."),
    table("Hosts with the most bytes", columns("Received", bytes), top(status.largest), ""),
  ];
}

function latest(status) {
  return table("Last visits", [
    { name: "URL", cell: ([url]) => urlLink(url) },
    { name: "Outcome", cell: ([, outcome]) => words(outcome) },
  ], [...status.latest].reverse(), "No visit to show.");
}
