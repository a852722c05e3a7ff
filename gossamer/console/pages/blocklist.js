/** The blocklist: hosts, URLs and networks that are not visited. */

import { get, getPage } from "./api.js";
import { changeButton, may } from "./dialog.js";
import { field, h, remote, replace } from "./dom.js";
import { distance, instant, moment } from "./format.js";
import { filters, heading, problem, sentence } from "./parts.js";
import { VirtualTable } from "./table.js";

const CHANGE = "operate all";

/** Return the page. */
export async function show({ params, signal, go, reload }) {
  const { search = "" } = params;
  const list = new VirtualTable({
    label: "Rules of the blocklist",
    columns: [
      { name: "Rule", cell: (rule) => h("span", { title: rule.rule }, remote(rule.rule)) },
      { name: "Effect", minor: true, cell: (rule) => h("span", { title: rule.text }, rule.text) },
      { name: "Since", minor: true, cell: (rule) => h("span", { title: instant(rule.at) }, moment(rule.at)) },
      { name: "Expires", cell: (rule) => rule.expires_at ? h("span", { title: instant(rule.expires_at) }, distance(rule.expires_at)) : "never" },
      { name: "By", minor: true, cell: (rule) => h("span", { title: rule.actor }, remote(rule.actor)) },
      { name: "Reason", minor: true, cell: (rule) => h("span", { title: rule.reason }, remote(rule.reason)) },
      may(CHANGE) && {
        name: "Action",
        cell: (rule) => changeButton("Unblock", CHANGE, unblock(rule.rule), reload, { "aria-label": `Unblock ${rule.rule}` }),
      },
    ].filter(Boolean),
    load: (cursor) => getPage("blocklist", { search }, cursor, signal),
    empty: search ? "No rule matches." : "Nothing is blocked.",
  });
  await list.loadMore();
  list.refresh(signal);
  const searched = h("input", {
    type: "search", value: search, spellcheck: "false", on: { change: (event) => go({ search: event.target.value }) },
  });
  return [
    heading("Blocklist", changeButton("Block…", CHANGE, block, reload, { class: "primary" })),
    sentence("URLs, hosts and networks on the blocklist are not visited, by any crawl."),
    filters(h("div", { class: "wide" }, field("Part of a rule", searched))),
    matching(signal),
    list.element,
  ];
}

function matching(signal) {
  const url = h("input", { type: "text", spellcheck: "false" });
  const answer = h("div", { role: "status" });
  const check = async (event) => {
    event.preventDefault();
    if (!url.value.trim()) return;
    try {
      const found = await get("blocklist/match", { url: url.value.trim() }, signal);
      const { rule } = found;
      replace(answer, rule ? ["Forbidden by ", remote(rule), "."] : "No rule forbids it, unless the address of its host is in a blocked network.");
    } catch (error) {
      replace(answer, problem(error));
    }
  };
  return h("form", { class: "filters no-print", on: { submit: check } },
    h("div", { class: "wide" }, field("Is this URL blocked?", url)), h("button", { type: "submit" }, "Check"), answer);
}

function block() {
  const rules = h("textarea", { rows: 4, required: true, spellcheck: "false" });
  return {
    title: "Block", expires: true, danger: true, verb: "Block", method: "POST", path: "blocklist",
    fields: [field("Rules, one a line", rules, "A host, a URL, a prefix such as example.org/private/, or a network.")],
    body: () => ({ rules: rules.value.split("\n").map((line) => line.trim()).filter(Boolean) }),
  };
}

function unblock(rule) {
  return {
    title: "Unblock", text: remote(rule), verb: "Unblock", method: "DELETE", path: "blocklist", body: () => ({ rules: [rule] }),
  };
}
