/** Crawls: their definitions, shares and progress; applied with a diff, paused, resumed, removed. */

import { crawlPath, get } from "./api.js";
import { meter } from "./chart.js";
import { changeButton } from "./dialog.js";
import { field, h, replace } from "./dom.js";
import { distance, instant, number, percent, plural } from "./format.js";
import { live } from "./live.js";
import { badge, details, heading, section, sentence } from "./parts.js";
import { facts } from "./table.js";

/** Return the page. */
export async function show({ signal, reload }) {
  return [
    heading("Crawls", changeButton("Apply a definition…", "admin", () => applying("", ""), reload)),
    await live(() => get("crawls", {}, signal), (crawls) => [
      sentence(`${plural(crawls.length, "crawl")}. Where crawls compete for a host or for speed, they share by weight.`),
      crawls.map((one) => card(one, reload, signal)),
    ], signal),
  ];
}

function card(one, reload, signal) {
  const { crawl: name, state } = one;
  const limit = one.max_pages > 0 && [` of at most ${number(one.max_pages)} `, meter(one.pages / one.max_pages, percent(one.pages / one.max_pages))];
  const edit = async () => {
    const { text, at } = await get(crawlPath(name, "definition"), {}, signal);
    return applying(name, text, at);
  };
  const remove = {
    title: `Remove the crawl ${name}`, confirmation: name,
    text: "Its queues and rows are dropped, and its id is not used again. Other crawls are not affected.",
    method: "DELETE", path: `crawls/${encodeURIComponent(name)}`, body: () => ({}), verb: "Remove", danger: true,
  };
  return section(
    [`${name} `, badge(state, { active: "good", paused: "warn", removed: "bad" }[state])],
    facts([
      ["Share", [meter(one.share, percent(one.share)), ` ${percent(one.share)} of the visits for which crawls compete (weight ${number(one.weight)})`]],
      ["Pages", [number(one.pages), limit]],
      ["URLs", `${number(one.queued)} queued, ${number(one.admitted)} admitted`],
      ["Scope", h("code", { class: "remote" }, one.scope)],
      ["Defined", `${instant(one.defined_at)} (${distance(one.defined_at)})`],
    ]),
    state !== "removed" && h("div", { class: "row" },
      changeButton("Edit…", "admin", edit, reload),
      state === "paused"
        ? changeButton("Resume", "operate", simple(name, "resume", "Resume"), reload)
        : changeButton("Pause", "operate", simple(name, "pause", "Pause"), reload),
      changeButton("Remove", "admin", remove, reload, { class: "danger" })),
    loadedDefinition(name, signal),
  );
}

/** Return the definition, which is loaded when it is opened. */
function loadedDefinition(name, signal) {
  const text = h("pre", { class: "text", tabindex: 0 }, "Loading…");
  const found = details("Definition", text);
  found.addEventListener("toggle", async () => {
    try {
      replace(text, (await get(crawlPath(name, "definition"), {}, signal)).text);
    } catch (error) {
      replace(text, error.message);
    }
  }, { once: true });
  return found;
}

function simple(name, verb, title) {
  return {
    title: `${title} the crawl ${name}`, method: "POST", path: crawlPath(name, verb), body: () => ({}), verb: title,
  };
}

function applying(name, text, at = undefined) {
  const id = h("input", { type: "text", value: name, readonly: Boolean(name), required: true, spellcheck: "false" });
  const toml = h("textarea", { rows: 16, required: true, spellcheck: "false" }, text);
  const change = {
    title: name ? `Edit the crawl ${name}` : "Apply a crawl's definition", verb: "Apply", method: "PUT",
    fields: [field("Id of the crawl", id), field("Definition, as TOML", toml)],
    get path() { return `crawls/${encodeURIComponent(id.value.trim())}`; },
    body: () => ({ definition: toml.value }), replaces: at,
  };
  return change;
}
