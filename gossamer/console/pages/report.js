/** The report: limits, traps and hazards, downloads, and advice. It prints, and is saved as one file. */

import { crawlPath, get, saveBlob } from "./api.js";
import { bars, meter } from "./chart.js";
import { button, field, h, select, urlLink } from "./dom.js";
import { bytes, duration, number, percent, plural, words } from "./format.js";
import { details, filters, heading, section, sentence, tiles } from "./parts.js";
import { table } from "./table.js";

const PERIODS = [["", "all days"], ["1", "the last day"], ["7", "the last 7 days"], ["30", "the last 30 days"]];

/** Pieces of advice that are shown without a click. */
const MAX_ADVICE = 3;

/** Return the page. */
export async function show({ params, crawl, signal, go }) {
  const { days = "" } = params;
  const report = await get(crawlPath(crawl, "report"), { days }, signal);
  const { totals } = report;
  return [
    heading("Report", h("span", { class: "row no-print" },
      button("Print", () => window.print()), button("Save as a file", () => save(report)))),
    sentence(describe(report)),
    filters(field("Period", select(PERIODS, days, (value) => go({ days: value })))),
    report.advice.length > 0 && section("Advice", advice(report.advice.slice(0, MAX_ADVICE)),
      report.advice.length > MAX_ADVICE && details(`${report.advice.length - MAX_ADVICE} more`, advice(report.advice.slice(MAX_ADVICE)))),
    tiles([
      ["Pages", number(totals.pages), totals.shared ? `${number(totals.shared)} taken from other crawls` : plural(totals.visits, "visit")],
      ["New texts", number(totals.new_texts), totals.visits_per_new_text >= 1 && `${number(totals.visits_per_new_text)} visits for each`],
      ["Copies", percent(totals.duplicate_share), `${number(totals.duplicates + totals.near_duplicates)} pages`],
      ["Received", bytes(totals.received)],
      ["Sites", number(totals.sites), `${number(totals.admitted)} URLs admitted`],
      ["Refused", number(totals.refused), "URLs"],
    ]),
    report.days.length > 1 && section("By day", byDay(report)),
    section("Limits, traps and hazards", hazards(report)),
    h("div", { class: "columns" },
      section("Status codes", downloads("Status codes", report.statuses)),
      section("Media types", downloads("Media types", report.types)),
      section("Time by stage", stages(report)),
    ),
  ];
}

function advice(found) {
  return h("ul", { class: "steps" }, found.map((one) => h("li", {}, one.text)));
}

function describe(report) {
  if (!report.days.length) return "No day of this period is counted.";
  const period = report.first_day === report.last_day ? `On ${report.first_day}` : `From ${report.first_day} to ${report.last_day}`;
  const { totals } = report;
  const taken = totals.shared ? ` Of the pages, ${number(totals.shared)} came from other crawls, without a request.` : "";
  return `${period}: ${plural(totals.visits, "visit")} brought ${plural(totals.pages, "page")} with ` +
    `${plural(totals.new_texts, "new text")}, from ${plural(totals.sites, "new site")}.${taken}`;
}

function byDay(report) {
  const days = [...report.days].reverse();
  return bars("Pages a day", days.map((day) => day.day), [
    { name: "new texts", values: days.map((day) => day.totals.new_texts) },
    { name: "other pages", values: days.map((day) => Math.max(0, day.totals.pages - day.totals.new_texts)) },
  ], number);
}

function hazards(report) {
  const [met, unmet] = [[], []];
  for (const one of report.hazards) (one.urls || one.sites || one.parked_links || one.refused ? met : unmet).push(one);
  return [
    table("Limits, traps and hazards", [
      {
        name: "Limit or hazard",
        cell: (one) => details(one.label, h("p", {}, one.text),
          one.settings.length > 0 && h("p", { class: "hint" }, "Settings: ", one.settings.map((name) => [h("code", {}, name), " "])),
          h("ul", { class: "steps" }, one.examples.map((url) => h("li", {}, urlLink(url))))),
      },
      { name: "Sites", numeric: true, cell: (one) => number(one.sites) },
      { name: "of sites", numeric: true, minor: true, cell: (one) => percent(one.site_share) },
      { name: "URLs", numeric: true, cell: (one) => number(one.urls) },
      { name: "of URLs", numeric: true, minor: true, cell: (one) => percent(one.url_share) },
      { name: "Refused", numeric: true, cell: (one) => number(one.refused) },
      { name: "Parked links", numeric: true, minor: true, cell: (one) => number(one.parked_links) },
    ], met, "None was met."),
    unmet.length > 0 && details(`${number(unmet.length)} limits and hazards were not met`,
      h("p", {}, unmet.map((one) => one.label).join(", "))),
  ];
}

function downloads(title, found) {
  return table(title, [
    { name: "Name", cell: (one) => h("span", { class: "breaks" }, words(one.name)) },
    { name: "Responses", numeric: true, cell: (one) => number(one.responses) },
    { name: "Share", numeric: true, cell: (one) => percent(one.share) },
    { name: "Received", numeric: true, minor: true, cell: (one) => bytes(one.received) },
  ], found.slice(0, 20), "None is counted.");
}

function stages(report) {
  return table("Time by stage", [
    { name: "Stage", cell: (one) => one.label },
    { name: "Time", numeric: true, cell: (one) => duration(one.seconds) },
    { name: "Share", narrow: true, cell: (one) => [meter(one.share, percent(one.share)), ` ${percent(one.share)}`] },
  ], report.stages, "");
}

/** Save the page as one HTML file with its styles and without scripts. */
async function save(report) {
  const styles = await Promise.all(["./base.css", "./pages.css"].map(async (path) => (await fetch(path)).text()));
  const copy = document.implementation.createHTMLDocument(`Report of ${report.crawl}`);
  copy.documentElement.lang = "en";
  const charset = copy.createElement("meta");
  charset.setAttribute("charset", "utf-8");
  const policy = copy.createElement("meta");
  policy.httpEquiv = "Content-Security-Policy";
  policy.content = "default-src 'none'; style-src 'unsafe-inline'";
  const style = copy.createElement("style");
  style.textContent = `${styles.join("\n")}\nbody{display:block}`;
  copy.head.prepend(charset, policy);
  copy.head.append(style);
  const content = copy.importNode(document.getElementById("main"), true);
  for (const element of content.querySelectorAll(".no-print")) element.remove();
  // Links lead to pages of the console, which the file does not have.
  for (const anchor of content.querySelectorAll("a")) anchor.replaceWith(anchor.textContent);
  copy.body.append(content);
  const text = `<!doctype html>\n${copy.documentElement.outerHTML}\n`;
  saveBlob(new Blob([text], { type: "text/html" }), `gossamer-report-${report.crawl}-${report.last_day || "empty"}.html`);
}
