/** Crawls: their definitions, shares and progress; applied with a diff, paused, resumed, removed. */

import { crawlPath, get, getIfPresent } from "./api.js";
import { meter } from "./chart.js";
import { askChange } from "./dialog.js";
import { button, field, h } from "./dom.js";
import { capital, duration, number, percent, plural, words } from "./format.js";
import { badge, heading, section, sentence } from "./parts.js";
import { facts, table } from "./table.js";

/** Return the page. */
export async function show({ crawl, signal, reload }) {
  const found = await getIfPresent("crawls", {}, signal);
  const crawls = found ? found.items ?? found : [await single(crawl, signal)];
  const total = crawls.reduce((sum, one) => sum + (weightOf(one) ?? 1), 0);
  const run = async (change) => (await askChange(change)) && reload();
  return [
    heading("Crawls", found && button("Apply a definition…", () => run(applying("", "")))),
    sentence(`${plural(crawls.length, "crawl")}. Where crawls compete for a host or for speed, they share by weight.`),
    crawls.map((one) => card(one, total, run, Boolean(found), signal)),
  ];
}

/** Return the data of the only crawl, if the API does not list crawls. */
async function single(crawl, signal) {
  const status = await get(crawlPath(crawl, "status"), {}, signal);
  return { id: status.definition?.crawl ?? status.crawl, ...status };
}

function nameOf(one) {
  return one.id ?? one.crawl ?? one.name;
}

function weightOf(one) {
  return one.weight ?? one.definition?.weight;
}

function stateOf(one) {
  if (one.state) return one.state;
  const definition = one.definition ?? one;
  if (definition.removed) return "removed";
  return definition.paused ? "paused" : "active";
}

function card(one, total, run, canChange, signal) {
  const name = nameOf(one);
  const state = stateOf(one);
  const weight = weightOf(one) ?? 1;
  return section(
    [`${name} `, badge(words(state), { active: "good", running: "good", paused: "warn", removed: "bad" }[state])],
    one.idle && h("p", { class: "warn" }, capital(one.idle)),
    facts([
      ["Weight", number(weight)],
      ["Share", [meter(one.share ?? weight / total, percent(one.share ?? weight / total)), ` ${percent(one.share ?? weight / total)}`,
        " of the visits for which crawls compete"]],
      ["Scope", one.scope && h("code", { class: "remote" }, one.scope)],
      ["Limit", one.max_pages && `${plural(one.max_pages, "page")}`],
      ["Progress", [
        one.pages !== undefined && plural(one.pages, "page"), one.queued !== undefined && `${number(one.queued)} queued`,
        one.admitted !== undefined && `${number(one.admitted)} admitted`,
      ].filter(Boolean).join(", ")],
      ["Remaining time", one.seconds_left && `about ${duration(one.seconds_left)}`],
    ]),
    one.definition && h("details", {}, h("summary", {}, "Definition"), definition(one.definition)),
    canChange && h("div", { class: "row" },
      button("Edit…", async () => {
        const text = await get(crawlPath(name, "definition"), {}, signal);
        run(applying(name, text.text ?? text.toml ?? JSON.stringify(text.definition ?? text, null, 2)));
      }),
      state === "paused"
        ? button("Resume", () => run(simple(name, "resume", "Resume")))
        : button("Pause", () => run(simple(name, "pause", "Pause"))),
      button("Remove", () => run({
        title: `Remove the crawl ${name}`, text: "Its queues and rows are dropped. Other crawls are not affected.",
        method: "DELETE", path: `crawls/${encodeURIComponent(name)}`, body: () => ({}), verb: "Remove", danger: true,
      }), { class: "danger" })),
  );
}

function definition(found) {
  const rows = Object.entries(found).filter(([, value]) => value !== "" && value !== null);
  return table("Definition", [
    { name: "Field", cell: ([name]) => name },
    { name: "Value", cell: ([, value]) => h("code", { class: "remote" }, typeof value === "string" ? value : JSON.stringify(value)) },
  ], rows);
}

function simple(name, verb, title) {
  return {
    title: `${title} the crawl ${name}`, method: "POST", path: crawlPath(name, verb), body: () => ({}), verb: title,
  };
}

function applying(name, text) {
  const id = h("input", { type: "text", value: name, readonly: Boolean(name), spellcheck: "false" });
  const toml = h("textarea", { rows: 16, spellcheck: "false" }, text);
  const change = {
    title: name ? `Edit the crawl ${name}` : "Apply a crawl's definition", verb: "Apply", method: "PUT",
    fields: [field("Id of the crawl", id), field("Definition, as TOML", toml)],
    get path() { return `crawls/${encodeURIComponent(id.value.trim() || "-")}`; },
    body: () => ({ definition: toml.value }),
  };
  return change;
}
