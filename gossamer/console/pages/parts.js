/** Parts that all pages have: headings, sections, tiles, badges, and sections that load later. */

import { ApiError } from "./api.js";
import { append, h, replace } from "./dom.js";
import { capital } from "./format.js";

/** Return the heading of a page. *more* stands beside it: buttons, filters. */
export function heading(text, ...more) {
  return h("div", { class: "heading" }, h("h1", {}, text), more.length > 0 && h("div", { class: "row" }, more));
}

/** Return the sentence with which a page begins. */
export function sentence(...text) {
  return h("p", { class: "sentence" }, text);
}

/** Return a section with a heading. */
export function section(title, ...children) {
  return h("section", {}, h("h2", {}, title), children);
}

/** Return details behind a summary. */
export function details(summary, ...children) {
  return h("details", {}, h("summary", {}, summary), children);
}

/** Return figures beside each other: `[[name, value, more], …]`. */
export function tiles(figures) {
  return h("dl", { class: "tiles" }, figures.map(([name, value, more]) =>
    h("div", { class: "tile" }, h("dt", {}, name), h("dd", { class: "value" }, value),
      more && h("dd", { class: "more" }, more))));
}

/** Return a short state; *kind* is `good`, `warn`, `bad` or "". */
export function badge(text, kind = "") {
  return h("span", { class: `badge ${kind}` }, text);
}

/** Return an element that says why data is missing. */
export function problem(error) {
  if (!(error instanceof ApiError)) console.error(error);
  const text = error instanceof ApiError ? error.message : `The page failed: ${error.message}`;
  return h("p", { class: "alert", role: "alert" }, capital(text));
}

/**
 * Return a section whose content is loaded while the rest of the page is shown.
 *
 * *load* returns a promise of data, and *render* the content. A resource that does not exist leaves
 * no section, or the text *missing*.
 */
export function loaded(title, load, render, missing = "") {
  const found = section(title, h("p", { class: "hint" }, "Loading…"));
  const [name] = found.children;
  const fill = async () => {
    try {
      const data = await load();
      replace(found, name, render(data, fill));
    } catch (error) {
      if (error.name === "AbortError") return;
      if (error instanceof ApiError && error.isMissing) {
        if (missing) replace(found, name, h("p", { class: "empty" }, missing));
        else found.remove();
      } else {
        replace(found, name, problem(error));
      }
    }
  };
  fill();
  return found;
}

/** Return a form with filters that are applied as soon as one changes. */
export function filters(...controls) {
  const form = h("form", { class: "filters no-print", on: { submit: (event) => event.preventDefault() } });
  append(form, controls);
  return form;
}

/** The colours of conditions of hosts, of states of URLs, and of classes of outcomes. */
export const KINDS = {
  ready: "good", delayed: "good", "checked out": "good", idle: "", "backing off": "warn",
  fetched: "good", "being fetched": "good", queued: "", redirected: "", failed: "bad", refused: "warn",
  parked: "warn", erased: "", page: "good", not_modified: "good", redirect: "",
};
