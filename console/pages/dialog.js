/** The dialog in which a change is described, tried, and made. */

import { send } from "./api.js";
import { append, button, field, h, replace, select } from "./dom.js";
import { number } from "./format.js";

const EXPIRIES = [["", "never"], ["3600", "in 1 hour"], ["86400", "in 1 day"], ["604800", "in 1 week"]];
const SECONDS_BEFORE_PREVIEW = 0.4;
const MAX_LINES = 20;

/**
 * Ask for a change, show its effect, and make it. Return the answer, or null if it was cancelled.
 *
 * *change* is `{title, text, method, path, body(), fields?, expires?, danger?, verb?}`. The effect is
 * the answer to the request with `dry_run`, whenever a field has changed.
 */
export function askChange(change) {
  const reason = h("input", { type: "text", name: "reason", autocomplete: "off", maxlength: 500 });
  let expiry = "";
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
    change.expires &&
      field("Expires", select(EXPIRIES, "", (value) => { expiry = value; }, { name: "expiry" }),
        "Then the setting of before returns."),
    field("Reason", reason, "Kept in the audit log."),
    effect,
    alert,
    h("div", { class: "row end" }, button("Cancel", () => dialog.close()), apply),
  );
  const dialog = h("dialog", { "aria-labelledby": title.id }, form);
  const opener = document.activeElement;
  let answer = null;
  let timer = 0;
  let asked = 0;

  const body = () => ({
    ...change.body(), reason: reason.value, ...(expiry ? { expires_in: Number(expiry) } : {}),
  });

  async function preview() {
    asked += 1;
    const own = asked;
    try {
      const found = await send(change.method, change.path, body(), { ...change.query, dry_run: true }, change.headers);
      if (own === asked) replace(effect, effectOf(found));
      if (own === asked) apply.disabled = false;
    } catch (error) {
      if (own === asked) replace(effect, h("p", { class: "bad" }, error.message));
      // An invalid change cannot be made. Other errors may be over by now.
      if (own === asked) apply.disabled = error.status === 400;
    }
  }

  form.addEventListener("input", (event) => {
    if (event.target === reason) return;
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
      replace(alert, error.message);
      alert.hidden = false;
    } finally {
      apply.disabled = false;
    }
  });
  document.body.append(dialog);
  dialog.showModal();
  preview();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      opener?.focus?.();
      if (answer) announce(answer.effect?.text ?? answer.text ?? `${change.title}: done.`);
      resolve(answer);
    });
  });
}

/** Return the elements that describe the *effect* of a change. */
export function effectOf(found) {
  const effect = found?.effect ?? found ?? {};
  if (typeof effect === "string") return h("p", {}, effect);
  return [
    h("p", {}, h("strong", {}, effect.text ?? "No effect is described.")),
    listOf("", effect.lines),
    listOf("Not changed:", effect.refused),
  ];
}

function listOf(title, lines = []) {
  if (!lines.length) return null;
  const shown = h("ul", {}, lines.slice(0, MAX_LINES).map((line) => h("li", { class: "remote" }, line)));
  const more = lines.length > MAX_LINES && h("p", { class: "hint" }, `and ${number(lines.length - MAX_LINES)} more`);
  return [title && h("p", { class: "warn" }, title), shown, more];
}

/** Show *text* for some seconds, and say it to screen readers. */
export function announce(text) {
  const place = document.getElementById("announcements");
  const note = h("p", {}, text);
  append(place, note);
  setTimeout(() => note.remove(), 8000);
}
