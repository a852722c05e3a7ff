/** The dialog in which a change is described, tried, and made. */

import { send } from "./api.js";
import { append, button, field, h, replace, select } from "./dom.js";
import { capital, number } from "./format.js";

const HOUR = 3600;
const OTHER = "other";
const EXPIRIES = [
  ["", "never"], [HOUR, "in 1 hour"], [24 * HOUR, "in 1 day"], [168 * HOUR, "in 1 week"], [OTHER, "after some hours"],
].map(([value, text]) => [String(value), text]);
const SECONDS_BEFORE_PREVIEW = 0.4;
const MAX_LINES = 20;

const ROLES = ["view", "operate", "admin"];
const NOBODY = { role: "view", crawls: [], requires_reason: false };

let session = NOBODY;

/** Use *found*, the user's session as the API has it, or null. */
export function setSession(found) {
  session = found ?? NOBODY;
}

/**
 * Return whether the user may do what needs the role *needed*, such as `operate`. With `operate all`
 * it concerns all crawls, so that rights on single ones do not suffice.
 */
export function may(needed) {
  const [role, all] = needed.split(" ");
  return ROLES.indexOf(session.role) >= ROLES.indexOf(role) && (!all || session.crawls === null);
}

/**
 * Return the button that asks for a change, and calls *done* after it; null if the user may not make
 * it. *change* is that of `askChange`, or a function that returns it or a promise of it.
 */
export function changeButton(text, needed, change, done, props = {}) {
  if (!may(needed)) return null;
  return button(text, async () => {
    try {
      if (await askChange(typeof change === "function" ? await change() : change)) await done();
    } catch (error) {
      announce(capital(error.message));
    }
  }, props);
}

/**
 * Ask for a change, show its effect, and make it. Return the answer, or null if it was cancelled.
 *
 * *change* is `{title, text, method, path, body(), fields?, expires?, danger?, verb?, confirmation?, replaces?}`.
 * The effect is the answer to the request with `dry_run`, whenever a field has changed. A change that
 * cannot be undone has a *confirmation*: the text that must be typed before. A setting that somebody
 * has changed after *replaces*, when the shown one was set, stays as it is.
 */
function askChange(change) {
  const mustGiveReason = session.requires_reason;
  const reason = h("input", { type: "text", name: "reason", autocomplete: "off", maxlength: 500, required: mustGiveReason });
  const expiry = change.expires ? new Expiry() : null;
  const typed = h("input", { type: "text", autocomplete: "off", spellcheck: "false", required: true });
  const effect = h("div", { class: "effect", role: "status" }, "Computing the effect…");
  const alert = h("p", { class: "alert", role: "alert", hidden: true });
  const title = h("h2", { id: "dialog-title" }, change.title);
  const apply = h("button", { type: "submit", class: change.danger ? "danger" : "primary" }, change.verb ?? "Apply");
  const form = h(
    "form",
    { method: "dialog" },
    title,
    change.text && h("p", {}, change.text),
    change.fields,
    expiry?.element,
    field("Reason", reason, mustGiveReason ? "Required, and kept in the audit log." : "Kept in the audit log."),
    effect,
    change.confirmation && field(`Type “${change.confirmation}” to confirm`, typed, "This cannot be undone."),
    alert,
    h("div", { class: "row end" }, button("Cancel", () => dialog.close()), apply),
  );
  const dialog = h("dialog", { "aria-labelledby": title.id }, form);
  const opener = document.activeElement;
  let answer = null;
  let timer = 0;
  let asked = 0;
  let isInvalid = false;

  const body = () => ({ ...change.body(), replaces: change.replaces, reason: reason.value, ...expiry?.body() });
  const allow = () => {
    apply.disabled = isInvalid || Boolean(change.confirmation && typed.value.trim() !== change.confirmation);
  };

  async function preview() {
    asked += 1;
    const own = asked;
    if ([...form.querySelectorAll("[required]")].some((one) => ![typed, reason].includes(one) && !one.value.trim())) {
      isInvalid = true;
      replace(effect, h("p", { class: "hint" }, "The effect is shown here when the fields are filled in."));
      return allow();
    }
    try {
      const found = await send(change.method, change.path, body(), { ...change.query, dry_run: true }, change.headers);
      if (own !== asked) return;
      isInvalid = false;
      replace(effect, effectOf(found));
    } catch (error) {
      if (own !== asked) return;
      // A change that is invalid, forbidden or outdated cannot be made. Other errors may be over by now.
      isInvalid = [400, 403, 412].includes(error.status);
      replace(effect, h("p", { class: "bad" }, capital(error.message)));
    }
    allow();
  }

  form.addEventListener("input", (event) => {
    if (event.target === reason) return;
    if (event.target === typed) return allow();
    clearTimeout(timer);
    timer = setTimeout(preview, SECONDS_BEFORE_PREVIEW * 1000);
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    apply.disabled = true;
    alert.hidden = true;
    try {
      answer = await send(change.method, change.path, body(), change.query, change.headers);
      dialog.close();
    } catch (error) {
      replace(alert, capital(error.message));
      alert.hidden = false;
    } finally {
      allow();
    }
  });
  document.body.append(dialog);
  dialog.showModal();
  allow();
  preview();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      // The page may have been drawn again meanwhile.
      const again = [...document.querySelectorAll("main button")].find((one) => one.textContent === opener?.textContent);
      (opener?.isConnected ? opener : again)?.focus?.();
      if (answer) announce(answer.effect?.text ?? answer.text ?? `${change.title}: done.`);
      resolve(answer);
    });
  });
}

/** The choice of when a setting expires. */
class Expiry {
  constructor() {
    this.hours = h("input", { type: "number", min: 0, step: "any", value: 4 });
    const hours = field("Hours", this.hours);
    hours.hidden = true;
    this.choice = select(EXPIRIES, "", (value) => { hours.hidden = value !== OTHER; }, { name: "expiry" });
    this.element = h("div", { class: "stack" }, field("Expires", this.choice, "When it expires, the earlier setting returns."), hours);
  }

  /** Return the part of a request that states the expiry. */
  body() {
    const { value } = this.choice;
    if (!value) return {};
    return { expires_in: value === OTHER ? HOUR * Number(this.hours.value) : Number(value) };
  }
}

/** Return the elements that describe the *effect* of a change. */
export function effectOf(found) {
  const effect = found?.effect ?? found ?? {};
  if (typeof effect === "string") return h("p", {}, effect);
  return [
    h("p", {}, h("strong", {}, effect.text ?? "No effect is described.")),
    listOf("", effect.lines),
    listOf("Not changed:", effect.refused),
    listOf("Concerns:", effect.estimate, ""),
  ];
}

function listOf(title, lines = [], kind = "warn") {
  if (!lines.length) return null;
  const shown = h("ul", {}, lines.slice(0, MAX_LINES).map((line) => h("li", { class: "remote" }, line)));
  const more = lines.length > MAX_LINES && h("p", { class: "hint" }, `and ${number(lines.length - MAX_LINES)} more`);
  return [title && h("p", { class: kind }, title), shown, more];
}

/** Show *text* for some seconds, and say it to screen readers. */
export function announce(text) {
  const place = document.getElementById("announcements");
  const note = h("p", {}, text);
  append(place, note);
  setTimeout(() => note.remove(), 8000);
}
