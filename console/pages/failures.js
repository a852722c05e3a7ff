/** Failures, grouped by kind, with examples and the appropriate action. */

import { crawlPath, get, getIfPresent } from "./api.js";
import { meter } from "./chart.js";
import { askChange } from "./dialog.js";
import { button, h, hostLink, link, urlLink } from "./dom.js";
import { number, percent, plural } from "./format.js";
import { heading, section, sentence } from "./parts.js";

/** Return the page. */
export async function show({ crawl, signal, reload }) {
  const found = await getIfPresent(crawlPath(crawl, "failures"), {}, signal)
    ?? (await get(crawlPath(crawl, "status"), {}, signal)).failures;
  const groups = found.items ?? found.groups ?? found;
  const total = groups.reduce((sum, group) => sum + group.count, 0);
  return [
    heading("Failures"),
    sentence(found.answer ?? (total
      ? `${plural(total, "visit")} failed, most often: ${groups[0].label} (${percent(groups[0].count / total)}).`
      : "No visit has failed.")),
    h("div", { class: "columns" }, groups.map((group) => section(
      [`${group.label} `, h("span", { class: "muted" }, `${number(group.count)}, ${percent(group.count / total)} `),
        meter(group.count / total, percent(group.count / total))],
      group.advice && h("p", {}, group.advice),
      examples(group),
      action(group, crawl, reload),
    ))),
  ];
}

function examples(group) {
  const shown = group.examples ?? (group.example ? [group.example] : []);
  if (!shown.length) return null;
  return h("ul", { class: "steps" }, shown.map((one) => {
    const url = one.url ?? one;
    const isHost = /^https?:\/\/[^/]+$/.test(url);
    return h("li", {}, isHost ? hostLink(url) : urlLink(url),
      one.reason && h("span", { class: "hint" }, ` ${one.reason}`));
  }));
}

function action(group, crawl, reload) {
  if (!group.action || group.action === "none") return null;
  if (group.action === "retry") {
    const change = {
      title: `Retry: ${group.label}`, text: "The URLs with this outcome are queued again.", verb: "Retry",
      method: "POST", path: crawlPath(crawl, "retry"), body: () => ({ outcome: group.outcome ?? group.outcomes?.[0] }),
    };
    return h("div", { class: "row" }, button("Retry these URLs", async () => (await askChange(change)) && reload()));
  }
  if (group.cause) return h("p", {}, h("a", { href: link("hosts", { condition: "backing off", cause: group.cause }) }, "Hosts"));
  return null;
}
