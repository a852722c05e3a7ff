/** Failures, grouped by kind, with examples and the appropriate action. */

import { crawlPath, get } from "./api.js";
import { meter } from "./chart.js";
import { changeButton, may } from "./dialog.js";
import { h, hostLink, link, urlLink } from "./dom.js";
import { capital, distance, number, percent } from "./format.js";
import { live } from "./live.js";
import { heading, section, sentence } from "./parts.js";

/** Return the page. */
export async function show({ crawl, signal, reload }) {
  const read = () => get(crawlPath(crawl, "failures"), {}, signal);
  return [heading("Failures"), await live(read, (groups) => content(groups, crawl, reload), signal)];
}

function content(groups, crawl, reload) {
  const total = groups.reduce((sum, group) => sum + group.count, 0);
  return [
    sentence(total
      ? `Failed visits, flawed pages, and refused or parked URLs: ${number(total)}, most often: ` +
        `${groups[0].label} (${percent(groups[0].count / total)}).`
      : "No failure is counted."),
    h("div", { class: "columns" }, groups.map((group) => section(
      [capital(group.label).slice(0, -1), h("span", { class: "muted" }, ` ${number(group.count)} `),
        meter(group.count / total, `${percent(group.count / total)} of all failures`)],
      h("p", {}, group.text),
      h("p", { class: "muted" }, group.remedy),
      examples(group),
      action(group, crawl, reload),
    ))),
  ];
}

function examples(group) {
  if (!group.examples.length) return null;
  return h("ul", { class: "steps" }, group.examples.map((one) => {
    return h("li", {}, one.url ? urlLink(one.url) : hostLink(one.host),
      one.text && h("span", { class: "hint" }, ` ${one.text}${one.at ? `, ${distance(one.at)}` : ""}`));
  }));
}

function action(group, crawl, reload) {
  const parts = [];
  if (group.action === "retry" && group.outcome) {
    const change = {
      title: `Retry: ${group.label}`, text: "The URLs with this outcome are queued again.", verb: "Retry",
      method: "POST", path: crawlPath(crawl, "retry"), body: () => ({ outcome: group.outcome }),
    };
    parts.push(changeButton("Retry these URLs", "operate", change, reload));
  }
  const host = group.examples[0]?.host;
  if (host && ["slow down", "block"].includes(group.action) && may("operate all")) {
    const verb = group.action === "block" ? "Block a host" : "Slow a host down";
    parts.push(h("a", { href: link("host", { host }) }, verb));
  }
  return parts.some(Boolean) ? h("div", { class: "row" }, parts) : null;
}
