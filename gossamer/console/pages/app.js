/** The shell: pages by the fragment of the address, the session, the crawl, and the theme. */

import { ApiError, get, getIfPresent, send } from "./api.js";
import { announce, may, setSession } from "./dialog.js";
import { field, h, link, replace, select } from "./dom.js";
import { capital } from "./format.js";
import { heading, problem } from "./parts.js";

/**
 * Route → module, its name in the navigation ("" for pages that others link to), and the rights without
 * which the API refuses its data, as `may` takes them.
 */
const PAGES = {
  overview: ["./overview.js", "Overview"],
  crawls: ["./crawls.js", "Crawls"],
  hosts: ["./hosts.js", "Hosts"],
  sites: ["./sites.js", "Sites"],
  url: ["./url.js", "URL"],
  failures: ["./failures.js", "Failures"],
  speed: ["./speed.js", "Speed"],
  blocklist: ["./blocklist.js", "Blocklist"],
  "dead-letters": ["./letters.js", "Dead letters", "view all"],
  audit: ["./audit.js", "Audit"],
  notifications: ["./notifications.js", "Notifications", "view all"],
  erasures: ["./erasures.js", "Erasures", "admin all"],
  report: ["./report.js", "Report"],
  host: ["./host.js", ""],
  site: ["./site.js", ""],
};
const THEMES = ["auto", "light", "dark"];
const main = document.getElementById("main");
const navigation = document.getElementById("navigation");
const logOut = document.getElementById("log-out");
let shown = new AbortController();
let crawls = [];
let isFirst = true;

/** Return the route of the address: the name of a page, and its parameters. */
function route() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  return { name: path || "overview", params: Object.fromEntries(new URLSearchParams(query)) };
}

/** Return the control of the page that has the focus, as its tag and name; "" without one. */
function focused() {
  const { activeElement: element } = document;
  return main.contains(element) && element !== main ? nameOf(element) : "";
}

function nameOf(element) {
  return `${element.tagName} ${element.getAttribute("aria-label") ?? element.textContent}`;
}

/** Show the page of the address. *isAgain*: it is shown, and keeps its place on the screen and the focus. */
async function show(isAgain = false) {
  const [wasFocused, top] = [focused(), window.scrollY];
  const { name, params } = route();
  shown.abort();
  shown = new AbortController();
  const { signal } = shown;
  const [path, title] = PAGES[name] ?? [];
  closeMenu();
  markNavigation(name);
  if (!path) {
    replace(main, heading("Not found"), h("p", {}, "The console has no such page."));
    return;
  }
  main.setAttribute("aria-busy", "true");
  try {
    const page = await import(path);
    const crawl = params.crawl || chosenCrawl();
    const context = {
      params, signal, crawl, crawls, name,
      /** Show this page again with other parameters. */
      go: (changed) => { location.hash = link(name, { ...params, ...changed }); },
      /** Show this page again with new data. */
      reload: () => show(true),
    };
    const content = await page.show(context);
    if (signal.aborted) return;
    replace(main, content);
    for (const choice of document.querySelectorAll("#crawl-choice select")) choice.value = crawl;
    document.title = `${main.querySelector("h1")?.textContent ?? title} · Gossamer`;
  } catch (error) {
    if (signal.aborted || error.name === "AbortError") return;
    if (error instanceof ApiError && error.status === 401) return showLogin(error.message);
    replace(main, heading(title || capital(name).slice(0, -1)), problem(error));
  } finally {
    if (!signal.aborted) main.removeAttribute("aria-busy");
  }
  // A screen reader reads on at the new page. The first page is read from the top.
  const again = isAgain && [...main.querySelectorAll("button, a, input")].find((one) => nameOf(one) === wasFocused);
  if (!isFirst) (again || main).focus({ preventScroll: true });
  if (!isFirst) window.scrollTo(0, isAgain ? top : 0);
  isFirst = false;
}

function markNavigation(name) {
  const family = { host: "hosts", site: "sites" }[name] ?? name;
  for (const anchor of navigation.querySelectorAll("a")) {
    const isCurrent = anchor.getAttribute("href") === link(family);
    if (isCurrent) anchor.setAttribute("aria-current", "page");
    else anchor.removeAttribute("aria-current");
  }
}

// The session.

async function openSession(token) {
  await send("POST", "session", { token });
}

function showLogin(reason) {
  // Several requests may be refused at once. A form that is being filled in stays.
  if (main.querySelector("form.login")) return;
  shown.abort();
  main.removeAttribute("aria-busy");
  logOut.hidden = true;
  closeMenu();
  for (const part of [navigation, ...["crawl-choice", "user"].map((id) => document.getElementById(id))]) replace(part);
  const token = h("input", { type: "password", name: "token", autocomplete: "current-password", required: true });
  const alert = h("p", { class: "alert", role: "alert", hidden: true });
  const login = async (event) => {
    event.preventDefault();
    try {
      await openSession(token.value.trim());
      await begin();
    } catch (error) {
      replace(alert, capital(error.message));
      alert.hidden = false;
    }
  };
  document.title = "Log in · Gossamer";
  replace(
    main,
    heading("Log in"),
    h("p", {}, capital(reason || "The console needs a token.")),
    h("form", { class: "login", on: { submit: login } },
      field("Token", token, "Printed by gossamer token, or part of the link that gossamer console prints."),
      alert,
      h("button", { type: "submit", class: "primary" }, "Log in")),
  );
  token.focus();
}

/** Use the token in the address, `#token=…`, and remove it from the address and the history. */
async function takeToken() {
  const found = /^#token=(.+)$/.exec(location.hash);
  if (!found) return;
  history.replaceState(null, "", "#/overview");
  await openSession(decodeURIComponent(found[1]));
}

// Crawls and theme.

function chosenCrawl() {
  return sessionStorage.getItem("crawl") ?? "";
}

async function offerCrawls() {
  const found = await getIfPresent("crawls").catch(() => null);
  crawls = (found ?? []).filter((one) => one.state !== "removed").map((one) => one.crawl);
  if (!crawls.includes(chosenCrawl())) sessionStorage.setItem("crawl", crawls[0] ?? "default");
  const choice = document.getElementById("crawl-choice");
  if (crawls.length < 2) return replace(choice);
  const chosen = (crawl) => {
    sessionStorage.setItem("crawl", crawl);
    const { name, params } = route();
    if (params.crawl) location.hash = link(name, { ...params, crawl: "" });
    else show();
  };
  replace(choice, select(crawls.map((name) => [name, name]), chosenCrawl(), chosen, { "aria-label": "Crawl" }));
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  localStorage.setItem("theme", theme);
  replace(document.getElementById("theme"), `Theme: ${theme}`);
}

function closeMenu() {
  document.body.classList.remove("menu");
  document.getElementById("menu").setAttribute("aria-expanded", "false");
}

/** Return where the text in the search field leads: a URL, a host with its scheme, or a site. */
function target(text) {
  if (/^https?:\/\/[^/?#]+$/i.test(text)) return link("host", { host: text.toLowerCase() });
  if (text.includes("/") || text.includes(":")) return link("url", { url: text });
  return link("hosts", { search: text });
}

/** Offer the pages that the user may see, and the end of the session if it has one. */
async function offerPages() {
  const session = await getIfPresent("session").catch(() => null);
  setSession(session);
  replace(document.getElementById("user"), session ? `${session.name} (${session.role})` : "");
  logOut.hidden = !session?.expires_at;
  const names = Object.keys(PAGES).filter((name) => PAGES[name][1] && may(PAGES[name][2] ?? "view"));
  replace(navigation, h("ul", {}, names.map((name) => h("li", {}, h("a", { href: link(name) }, PAGES[name][1])))));
}

async function begin() {
  await Promise.all([offerPages(), offerCrawls()]);
  await show();
}

setTheme(THEMES.find((theme) => theme === localStorage.getItem("theme")) ?? "auto");
document.getElementById("theme").addEventListener("click", () => {
  const { theme } = document.documentElement.dataset;
  setTheme(THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length]);
});
logOut.addEventListener("click", async () => {
  try {
    await send("DELETE", "session", {});
    showLogin("You have logged out.");
  } catch (error) {
    if (error.status !== 401) announce(error.message);
  }
});
document.getElementById("menu").addEventListener("click", (event) => {
  const isOpen = document.body.classList.toggle("menu");
  event.currentTarget.setAttribute("aria-expanded", String(isOpen));
});
document.getElementById("search").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = document.getElementById("search-text").value.trim();
  if (text) location.hash = target(text);
});
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
document.addEventListener("session-ended", () => showLogin(logOut.hidden ? "" : "The session has ended."));
window.addEventListener("hashchange", () => show());
// "Back" leaves a dialog, as it leaves a page.
window.addEventListener("popstate", () => document.querySelector("dialog[open]")?.close());
takeToken().then(begin, (error) => showLogin(error.message));
