/** The audit log: every change, who made it, and why. */

import { getPage } from "./api.js";
import { may } from "./dialog.js";
import { field, h, remote, select } from "./dom.js";
import { distance, instant, moment, words } from "./format.js";
import { ALL, ofCrawl } from "./hosts.js";
import { badge, filters, heading, sentence } from "./parts.js";
import { VirtualTable } from "./table.js";

const ACTIONS = [
  "", "apply", "block", "discard", "expire", "fetch", "forget", "host", "pause", "refetch", "release", "remove",
  "replay", "resume", "retry", "seed", "site", "speed", "unblock",
];

/** Return the page. */
export async function show({ params, crawl, crawls, signal, go }) {
  const { actor = "", action = "", subject = "", of = "" } = params;
  // Without the choice of a crawl nothing is hidden: the changes of removed crawls are shown, too.
  const choice = may("view all") ? ofCrawl(crawl, crawls, of, go, "Changes of") : null;
  const isOfAll = of === ALL || (may("view all") && !choice);
  const list = new VirtualTable({
    label: "Changes",
    columns: [
      { name: "Time", cell: (one) => h("span", { title: instant(one.at) }, moment(one.at)) },
      { name: "Actor", cell: (one) => remote(one.actor) },
      { name: "Action", cell: (one) => badge(words(one.action)) },
      { name: "Subject", cell: (one) => h("span", { title: one.subject }, remote(one.subject || "everything")) },
      { name: "Effect", minor: true, cell: (one) => h("span", { title: one.effect }, one.effect) },
      { name: "Reason", minor: true, cell: (one) => h("span", { title: one.reason }, remote(one.reason)) },
      { name: "Until", minor: true, cell: (one) => (one.expires_at ? distance(one.expires_at) : "") },
      { name: "By", minor: true, cell: (one) => one.source },
    ],
    load: (cursor) => getPage("audit", { crawl: isOfAll ? "" : crawl, actor, action, subject }, cursor, signal),
    empty: isOfAll && !actor && !action && !subject ? "No change is recorded." : "No change matches.",
  });
  await list.loadMore();
  list.refresh(signal);
  const search = (label, name, value) => field(label, h("input", {
    type: "search", value, spellcheck: "false", on: { change: (event) => go({ [name]: event.target.value }) },
  }));
  return [
    heading("Audit"),
    sentence("The changes that operators made, newest first. The record is never deleted."),
    filters(
      search("Actor", "actor", actor),
      field("Action", select(ACTIONS.map((name) => [name, name || "any"]), action, (value) => go({ action: value }))),
      search("Part of the subject", "subject", subject),
      choice,
    ),
    list.element,
  ];
}
