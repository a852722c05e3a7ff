/** One URL: why it is in its state, how it was found, its versions, and what changed between two. */

import { address, crawlPath, get, getPage, saveFile } from "./api.js";
import { changeButton } from "./dialog.js";
import { button, field, h, hostLink, link, remote, replace, select, siteLink, urlLink } from "./dom.js";
import { bytes, distance, duration, instant, moment, number, percent, plural, words } from "./format.js";
import { eraseButton } from "./erasures.js";
import { gates } from "./host.js";
import { live } from "./live.js";
import { badge, details, heading, KINDS, loaded, problem, section, sentence } from "./parts.js";
import { facts, table } from "./table.js";

/** Return the page. */
export async function show({ params, crawl, signal, go, reload }) {
  const typed = params.url ?? "";
  const input = h("input", { type: "text", value: typed, spellcheck: "false", autocomplete: "off" });
  const form = h(
    "form",
    { class: "filters no-print", on: { submit: (event) => { event.preventDefault(); go({ url: input.value.trim() }); } } },
    h("div", { class: "wide" }, field("URL", input)),
    h("button", { type: "submit", class: "primary" }, "Explain"),
  );
  if (!typed) return [heading("URL"), sentence("Enter a URL: why it was fetched or not, and when it will be."), form];
  const read = () => get(crawlPath(crawl, "url"), { url: typed }, signal);
  const found = await read().catch((error) => error);
  if (found instanceof Error) return [heading("URL"), form, problem(found)];
  const { url } = found;
  return [
    heading(remote(url), ...actions(found, crawl, reload)),
    form,
    await live(read, state, signal),
    h("div", { class: "columns" },
      loaded("Path from the seed", () => get(crawlPath(crawl, "url/path"), { url }, signal), path),
      section("Rules", ruleFacts(found)),
      found.revisits && section("Changes", changes(found)),
    ),
    loaded("Visits and versions", () => getPage(crawlPath(crawl, "history"), { url }, null, signal),
      (page) => versions(page.items, url, crawl, signal)),
  ];
}

/** Return the state of the URL, its visits, and its place in the queue. */
function state(found) {
  const visits = visitFacts(found);
  return [
    h("p", { class: "sentence" }, badge(found.state, KINDS[found.state]), " ", found.answer),
    found.seen_as && h("p", {}, "The crawl has seen another form of this URL: ", urlLink(found.seen_as)),
    visits.childElementCount > 0 && section("Visit and plan", visits),
    found.queued && section("In the queue of its host", queued(found.queued)),
  ];
}

function visitFacts(found) {
  const { visit, verdict, document, next_visit: next } = found;
  return facts([
    [visit?.was_visited ? "Last visit" : "Refused", visit && `${instant(visit.at)} (${distance(visit.at)})`],
    ["Outcome", visit && `${words(visit.outcome)}${visit.status ? `, status ${visit.status}` : ""}`],
    ["Reason", visit?.reason],
    ["Meaning", visit?.meaning],
    ["Redirects to", visit?.redirects_to && urlLink(visit.redirects_to)],
    ["Verdict", verdict && `${words(verdict.verdict)}${verdict.reason ? ` (${verdict.reason})` : ""}`],
    ["Duplicate of", verdict?.duplicate_of && urlLink(verdict.duplicate_of)],
    ["Links released", verdict && number(verdict.links)],
    ["Document", document && (document.gone ? `not in pages: ${document.gone_reason}` : "in pages")],
    ["Text", verdict?.needs_rendering && "scripts seem to make it: the page needs a browser"],
    ["Not archived", found.not_archived],
    ["Planned for", next && plannedTime(next, found.coming_policy)],
    ["Planned by", next?.reason],
    ["Trace", visit?.trace && h("code", {}, visit.trace)],
  ]);
}

function plannedTime(next, comingPolicy) {
  if (comingPolicy) return `to be planned again, by policy ${comingPolicy}`;
  return next.at ? `${instant(next.at)} (${distance(next.at)})` : "never";
}

function ruleFacts(found) {
  return facts([
    ["Host", hostLink(found.host_key)],
    ["Site", siteLink(found.site)],
    ["Scope", found.scope && `${found.scope.is_inside ? "inside" : "outside"}: ${found.scope.rule}`],
    ["Depth", found.visit && `${plural(found.visit.depth, "link")} from a seed, at most ${found.max_depth}`],
    ["Blocklist", found.blocked_by && remote(found.blocked_by.rule)],
    ["robots.txt", found.robots && h("a", { href: link("host", { host: found.host_key, url: found.url }) }, found.robots)],
    ["Crawl-delay", found.crawl_delay && duration(found.crawl_delay)],
    ["Usage", Object.entries(found.usage).map(([name, one]) => `${name}: ${{ true: "allowed", false: "disallowed" }[one.allowed] ?? "unknown"}`).join(", ")],
    ["Steps", found.steps.length > 0 && h("ul", { class: "steps" }, found.steps.map((step) => h("li", {}, step)))],
    ["Erased", found.erased && `${instant(found.erased.at)} with ${found.erased.target}`],
  ]);
}

function queued(found) {
  return [
    facts([
      ["Before it", plural(found.ahead, "URL")],
      ["Rank", found.rank ?? "to be fetched again"],
      ["Estimate", found.seconds ? `about ${duration(found.seconds)}` : ""],
    ]),
    gates(found),
  ];
}

function changes(found) {
  const one = found.revisits;
  return facts([
    ["Visits", `${number(one.visits)}, ${plural(one.changes, "change")}`],
    ["Last change", one.changed_at && `${instant(one.changed_at)} (${distance(one.changed_at)})`],
    ["Change rate", one.rate && `every ${duration(one.rate.interval)}, about`],
    ["Freshness", one.freshness !== null && percent(one.freshness)],
    ["Age", one.age !== null && duration(one.age)],
    ["Weight", number(one.weight)],
    ["Linking sites", `about ${number(one.linking_sites)}`],
    ["Validators", one.validators.join(", ")],
    ["Distrusted", one.distrust],
  ]);
}

function path(found) {
  return [
    h("p", {}, found.answer),
    h("ol", { class: "steps" }, found.steps.map((step) => h("li", {}, badge(step.kind), " ", urlLink(step.url),
      step.text && h("span", { class: "hint" }, ` ${step.text}`)))),
  ];
}

function versions(visits, url, crawl, signal) {
  const archived = visits.filter((visit) => visit.capture);
  const view = h("div", { class: "list" });
  const open = async (load) => {
    replace(view, h("p", { class: "hint" }, "Loading…"));
    try {
      replace(view, await load());
    } catch (error) {
      replace(view, problem(error));
    }
    view.scrollIntoView({ block: "nearest" });
  };
  return [
    table("Visits", [
      { name: "Time", narrow: true, cell: (visit) => h("span", { title: instant(visit.at) }, moment(visit.at)) },
      { name: "Outcome", cell: (visit) => badge(`${words(visit.outcome)}${visit.status ? ` ${visit.status}` : ""}`, KINDS[visit.outcome] ?? "bad") },
      { name: "Found", cell: (visit) => visit.finding },
      { name: "Size", numeric: true, minor: true, cell: (visit) => bytes(visit.size) },
      { name: "Reason", minor: true, cell: (visit) => (visit.reason && h("span", { class: "breaks" }, visit.reason)) || (visit.redirects_to && remote(visit.redirects_to)) },
      {
        name: "Archive",
        cell: (visit) => visit.capture && button("Show", () => open(() => version(url, visit.capture.fetched_at, crawl, signal)),
          { "aria-label": `Show the version of ${instant(visit.capture.fetched_at)}` }),
      },
    ], visits, "No visit is in its history."),
    archived.length > 1 && compare(archived, url, crawl, signal, open),
    view,
  ];
}

function compare(archived, url, crawl, signal, open) {
  const options = archived.map((visit) => [String(visit.capture.fetched_at), instant(visit.capture.fetched_at)]);
  let [since, until, form] = [options[1][0], options[0][0], "text"];
  const run = () => open(async () => {
    const found = await get(crawlPath(crawl, "diff"), { url, since, until, form }, signal);
    return difference(found);
  });
  return h("div", { class: "filters no-print" },
    field("Compare", select(options, since, (value) => { since = value; })),
    field("with", select(options, until, (value) => { until = value; })),
    field("as", select([["text", "text"], ["html", "markup"]], form, (value) => { form = value; })),
    button("Show the difference", run));
}

function difference(found) {
  const tags = { added: "ins", new: "ins", removed: "del", old: "del" };
  return [
    h("h3", {}, `From ${instant(found.old.fetched_at)} to ${instant(found.new.fetched_at)}: ${found.answer}`),
    !found.is_complete && h("p", { class: "hint" }, "A part is shown as replaced, because its comparison takes too long."),
    h("pre", { class: "difference", tabindex: 0, role: "region", "aria-label": "Difference" },
      found.pieces.map((piece) => h(tags[piece.kind] ?? "span", {}, piece.text))),
  ];
}

async function version(url, at, crawl, signal) {
  const found = await get(crawlPath(crawl, "capture"), { url, at }, signal);
  return [
    h("h3", {}, found.title || "Version", ` of ${instant(found.position.fetched_at)}`),
    facts([
      ["Status", `${found.status} ${found.reason}`],
      ["Content-Type", found.content_type],
      ["Language", found.language],
      ["Digest", h("code", { class: "remote" }, found.digest)],
      ["Body", found.body_url && ["as in the capture of ", urlLink(found.body_url)]],
      ["Incomplete", found.truncated],
      ["In the archive", h("code", { class: "remote" }, `${found.position.file}, offset ${found.position.offset}`)],
    ]),
    details("Headers", table("Headers", [
      { name: "Name", cell: ([name]) => remote(name) },
      { name: "Value", cell: ([, value]) => remote(value) },
    ], found.headers)),
    found.text ? details(`Text (${found.text_kind})`, h("pre", { class: "text", tabindex: 0 }, found.text))
      : found.fault && h("p", { class: "hint" }, found.fault),
    download(found, crawl),
    await frame(found, crawl, signal),
  ];
}

/** Return the button that saves the body, and the place where an error is shown. */
function download(found, crawl) {
  const failure = h("div");
  const save = async () => {
    try {
      replace(failure);
      await saveFile(crawlPath(crawl, "body"), { url: found.url, at: found.position.fetched_at });
    } catch (error) {
      replace(failure, problem(error));
    }
  };
  return [h("div", { class: "row no-print" }, button("Download the body", save)), failure];
}

/** Return the archived page in a frame that has no network, no scripts and no links. */
async function frame(found, crawl, signal) {
  const at = found.position.fetched_at;
  const source = address(crawlPath(crawl, "archived"), { url: found.url, at });
  const answer = await fetch(source, { signal, cache: "no-store" });
  // A frame would show an error as a broken page.
  if (!answer.ok) return h("p", { class: "hint" }, (await answer.json().catch(() => ({}))).detail ?? "No page to show.");
  return [
    h("p", { class: "hint" }, "The page as archived, without scripts, images and links:"),
    h("iframe", {
      class: "archived", sandbox: "", referrerpolicy: "no-referrer", title: `The archived page of ${instant(at)}`, src: source,
    }),
  ];
}

function actions(found, crawl, reload) {
  const { url } = found;
  const again = found.state === "failed"
    ? { title: "Retry the URL", path: "retry", verb: "Retry" }
    : { title: "Fetch the URL again", path: "refetch", verb: "Fetch again" };
  return [
    changeButton("Fetch now", "operate", {
      title: "Fetch the URL now", method: "POST", path: crawlPath(crawl, "fetch"), body: () => ({ urls: [url] }),
      verb: "Fetch now",
    }, reload),
    changeButton(again.verb, "operate", {
      ...again, method: "POST", path: crawlPath(crawl, again.path), body: () => ({ urls: [url] }),
    }, reload),
    changeButton("Block", "operate all", {
      title: "Block the URL", danger: true, expires: true, method: "POST", path: "blocklist",
      body: () => ({ rules: [url] }), verb: "Block",
    }, reload, { class: "danger" }),
    eraseButton("URL", url, reload),
  ];
}
