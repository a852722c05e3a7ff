/** One site: the worth of its parts as a tree, its budgets, its hosts and its settings. */

import { crawlPath, get, getPage } from "./api.js";
import { meter } from "./chart.js";
import { changeButton } from "./dialog.js";
import { field, h, hostLink, link, remote } from "./dom.js";
import { bytes, distance, duration, number, percent, plural, words } from "./format.js";
import { eraseButton } from "./erasures.js";
import { override } from "./host.js";
import { badge, heading, KINDS, loaded, section, sentence, tiles } from "./parts.js";
import { refusals } from "./sites.js";
import { facts, table } from "./table.js";

/** Return the page. */
export async function show({ params, crawl, signal, reload }) {
  const name = params.site ?? "";
  if (!name) return [heading("Site"), sentence("No site is named. ", h("a", { href: link("sites") }, "Choose a site"), ".")];
  const [parts, page] = await Promise.all([
    get(crawlPath(crawl, "parts"), { site: name }, signal),
    getPage("sites", { crawl, site: name }, null, signal),
  ]);
  const site = page.items.find((one) => one.site === name) ?? { refused: {}, distrusted: {}, host_overrides: {} };
  return [
    heading(remote(name), changeButton("Settings…", "operate all", () => settings(name, site), reload),
      parts.parked > 0 && changeButton("Release parked URLs…", "operate", () => release(name, parts, crawl), reload),
      eraseButton("site", name, reload)),
    sentence(parts.answer),
    tiles([
      ["First visits", number(parts.visits)],
      ["New texts", number(Math.round(parts.new)), percent(parts.visits ? parts.new / parts.visits : null)],
      ["Parked", number(parts.parked)],
      ["Linking sites", `about ${number(Math.round(parts.linking_sites))}`],
      ["Unvisited", `about ${number(parts.unvisited)}`],
      parts.new_urls_lately !== null && ["New URLs lately", number(Math.round(parts.new_urls_lately)), "per 100 visits"],
    ].filter(Boolean)),
    section("Worth of its parts", tree(parts)),
    h("div", { class: "columns" },
      section("Budgets", budgets(parts)),
      section("Settings", facts([
        ["Set for the site", override(site.override) || "none"],
        ...Object.entries(site.host_overrides ?? {}).map(([host, found]) => [remote(host), override(found)]),
        ["Refused URLs", refusals(site.refused)],
        ["Distrusted", Object.entries(site.distrusted ?? {}).map(([host, why]) => `${host}: ${why}`).join("; ")],
        ["Names", site.has_wildcard && "any name below the site resolves"],
      ])),
      loaded("Hosts", () => getPage("hosts", { site: name, limit: 100 }, null, signal), hosts),
    ),
  ];
}

function tree(parts) {
  const shown = table("Parts of the site", [
    { name: "Part", cell: (part) => h("span", { class: "branch remote", style: { "--level": part.level } },
      part.text, part.name.startsWith("~") && h("span", { class: "hint" }, " (links of pages without a text of their own)")) },
    { name: "Worth of a visit", narrow: true, cell: (part) => [meter(part.worth, percent(part.worth)), ` ${percent(part.worth)}`] },
    { name: "Visits", numeric: true, cell: (part) => number(Math.round(part.visits)) },
    { name: "Own texts", numeric: true, cell: (part) => number(Math.round(part.new)) },
    { name: "New links", numeric: true, minor: true, cell: (part) => number(Math.round(part.links)) },
    { name: "Received", numeric: true, minor: true, cell: (part) => bytes(part.received) },
    { name: "Time", numeric: true, minor: true, cell: (part) => duration(part.seconds) },
    { name: "Parked", numeric: true, cell: (part) => (part.parked ? number(part.parked) : "") },
    { name: "Next probe", minor: true, cell: (part) => (part.next_probe_at ? distance(part.next_probe_at) : "") },
  ], parts.parts, "No first visit is counted.");
  return shown;
}

/** `trap_site_depth` → `site depth`. */
function budgetName(name) {
  return words(name).replace(/^trap /, "").replace("urls", "URLs");
}

function budgets(parts) {
  return table("Budgets", [
    { name: "Budget", cell: (one) => h("span", { title: one.setting }, budgetName(one.name)) },
    { name: "Used", numeric: true, cell: (one) => h("span", { title: one.unit }, amount(one.used, one.unit)) },
    { name: "Limit", numeric: true, cell: (one) => (one.limit === null ? "off" : h("span", { title: one.unit }, amount(one.limit, one.unit))) },
    { name: "Share", minor: true, cell: (one) => one.limit > 0 && meter(one.used / one.limit, percent(one.used / one.limit)) },
    { name: "Parked", numeric: true, cell: (one) => (one.parked ? number(one.parked) : "") },
  ], parts.budgets, "No budget.");
}

function amount(value, unit) {
  if (unit === "bytes") return bytes(value);
  return unit.startsWith("seconds") ? duration(value) : number(Math.round(value));
}

function hosts(page) {
  return table("Hosts of the site", [
    { name: "Host", cell: (host) => hostLink(host.host) },
    { name: "Condition", cell: (host) => badge(words(host.shown_condition), KINDS[host.condition]) },
    { name: "Queued", numeric: true, cell: (host) => number(host.queued) },
    { name: "Pages", numeric: true, cell: (host) => number(host.pages) },
  ], page.items, "No host yet.");
}

function settings(name, site) {
  const found = site.override ?? {};
  const delay = h("input", { type: "number", min: 0, step: "any", value: found.delay ?? "" });
  const budget = h("input", { type: "number", min: 0, step: 1, value: found.budget || "" });
  const off = h("input", { type: "checkbox", checked: Boolean(found.off) });
  return {
    title: `Settings of ${name}`, expires: true, verb: "Set",
    method: "PUT", path: `overrides/sites/${encodeURIComponent(name)}`, replaces: found.at ?? 0,
    fields: [
      field("Seconds between two visits to a host", delay, "Empty for the usual delay."),
      field("Visits to each host a day", budget, "Empty for no limit."),
      field("No requests at all", off),
    ],
    body: () => ({
      delay: delay.value === "" ? null : Number(delay.value), budget: Number(budget.value || 0), off: off.checked,
    }),
  };
}

function release(name, parts, crawl) {
  const waiting = [...parts.budgets, ...parts.parts].filter((one) => one.parked);
  const boxes = waiting.map((one) => [one, h("input", { type: "checkbox", checked: true })]);
  return {
    title: `Release parked URLs of ${name}`, verb: "Release", method: "POST", path: crawlPath(crawl, "release"),
    fields: h("fieldset", {}, h("legend", {}, "Parts"), boxes.map(([one, box]) =>
      field(`${one.text ?? budgetName(one.name)}: ${plural(one.parked, "URL")}`, box))),
    body: () => ({ site: name, parts: boxes.filter(([, box]) => box.checked).map(([one]) => one.name) }),
  };
}
