/** Dead letters: records that could not be read or processed, with replay and discard. */

import { crawlPath, getPage } from "./api.js";
import { changeButton, may } from "./dialog.js";
import { button, field, h, remote, replace, select } from "./dom.js";
import { bytes, instant, moment } from "./format.js";
import { filters, heading, section, sentence } from "./parts.js";
import { facts, VirtualTable } from "./table.js";

const SERVICES = ["", "frontier", "fetcher", "parser", "dedup", "archive"];

/** Return the page. */
export async function show({ params, crawl, signal, go, reload }) {
  const { service = "" } = params;
  const chosen = new Set();
  const count = h("span", { class: "hint" }, "None chosen.");
  const buttons = [
    changeButton("Replay…", "operate all", () => change("replay"), reload, { disabled: true }),
    changeButton("Discard…", "admin all", () => change("discard"), reload, { disabled: true, class: "danger" }),
  ].filter(Boolean);
  const choose = (name, isChosen) => {
    if (isChosen) chosen.add(name);
    else chosen.delete(name);
    replace(count, chosen.size ? `${chosen.size} chosen.` : "None chosen.");
    for (const one of buttons) one.disabled = !chosen.size;
  };
  const change = (verb) => ({
    title: verb === "replay" ? "Replay dead letters" : "Discard dead letters", danger: verb === "discard",
    text: verb === "replay" ? "The records are appended to their topics again." : "The records are deleted and cannot be replayed.",
    method: "POST", path: crawlPath(crawl, `dead-letters/${verb}`), body: () => ({ letters: [...chosen] }),
    verb: verb === "replay" ? "Replay" : "Discard",
  });
  const content = h("div", { role: "region", "aria-label": "Record", class: "stack" });
  const list = new VirtualTable({
    label: "Dead letters",
    columns: [
      may("operate all") && {
        name: "Choose",
        cell: (letter) => h("input", {
          type: "checkbox", checked: chosen.has(letter.name), "aria-label": `Choose ${letter.name}`,
          on: { change: (event) => choose(letter.name, event.target.checked) },
        }),
      },
      { name: "Letter", cell: (letter) => button(letter.name, () => replace(content, record(letter)), { class: "plain", title: "Show the record" }) },
      { name: "Time", minor: true, cell: (letter) => h("span", { title: instant(letter.at) }, moment(letter.at)) },
      { name: "Service", cell: (letter) => letter.service },
      { name: "Topic", minor: true, cell: (letter) => letter.topic },
      { name: "Key", minor: true, cell: (letter) => remote(letter.key) },
      { name: "Reason", cell: (letter) => h("span", { title: letter.reason }, remote(letter.reason)) },
    ].filter(Boolean),
    load: (cursor) => getPage(crawlPath(crawl, "dead-letters"), { service }, cursor, signal),
    empty: service ? "No dead letter matches." : "There are no dead letters.",
  });
  await list.loadMore();
  list.refresh(signal);
  return [
    heading("Dead letters", buttons.length > 0 && count, buttons),
    sentence("Records that could not be read or processed. Replay them once the cause is fixed."),
    filters(field("Service", select(SERVICES.map((name) => [name, name || "any"]), service, (value) => go({ service: value })))),
    list.element,
    content,
  ];
}

function record(letter) {
  return section(
    `Record ${letter.name}`,
    facts([
      ["Reason", remote(letter.reason)],
      ["Time", instant(letter.at)],
      ["Position", `${letter.topic}, partition ${letter.partition}, offset ${letter.offset}`],
      ["Key", remote(letter.key)],
      ["Size", bytes(letter.size)],
      ["Replay", letter.no_replay || "possible"],
    ]),
    h("pre", { class: "text", tabindex: 0 }, letter.preview),
    !letter.is_whole && h("p", { class: "hint" }, "Only the beginning is shown."),
  );
}
