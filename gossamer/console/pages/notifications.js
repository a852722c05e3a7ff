/** Notifications: where notices go, which rules are on, the newest notices, and a test of each channel. */

import { get, send } from "./api.js";
import { may } from "./dialog.js";
import { button, h, remote, replace } from "./dom.js";
import { instant, moment, words } from "./format.js";
import { live } from "./live.js";
import { badge, heading, problem, section, sentence } from "./parts.js";
import { table } from "./table.js";

/** Return the page. */
export async function show({ signal, reload }) {
  const read = () => get("notifications", {}, signal);
  return [heading("Notifications"), await live(read, (found) => content(found, reload), signal)];
}

function content(found, reload) {
  return [
    sentence(describe(found)),
    found.channels.length > 0 && section("Channels", channels(found.channels, reload)),
    section("Rules", table("Rules", [
      { name: "Notice if", cell: (rule) => rule.title },
      { name: "State", cell: (rule) => (rule.is_on ? badge("on", "good") : badge("off")) },
    ], found.rules, "")),
    section("Newest notices", table("Newest notices", [
      { name: "Time", cell: (one) => h("span", { title: instant(one.at) }, moment(one.at)) },
      { name: "Rule", minor: true, cell: (one) => badge(words(one.rule), one.is_over ? "good" : "") },
      { name: "Notice", cell: (one) => h("bdi", {}, one.text) },
      { name: "Sent", cell: (one) => (one.sent.length ? one.sent.map(delivery) : "on the topic alone") },
    ], found.notices, "No notice yet.")),
  ];
}

function describe({ channels: open, report, report_hour: hour }) {
  if (!open.length) return "Nothing is sent: the settings of the console have no channel (notify.webhooks, notify.mail_to, notify.topic).";
  const at = `${String(hour).padStart(2, "0")}:00 UTC`;
  const sent = { daily: ` The report is sent every day at ${at}.`, weekly: ` The report is sent on Mondays at ${at}.` };
  return `Notices are sent while a console runs.${sent[report] ?? ""}`;
}

function channels(open, reload) {
  return table("Channels", [
    { name: "Name", cell: (one) => one.name },
    { name: "Kind", minor: true, cell: (one) => one.kind },
    { name: "Receiver", cell: (one) => remote(one.target) },
    may("admin all") && { name: "Action", cell: (one) => test(one.name, reload) },
  ].filter(Boolean), open, "");
}

/** Return the button that tests the channel *name*, and its answer. */
function test(name, reload) {
  const answer = h("span", { role: "status" });
  const run = async () => {
    started.disabled = true;
    replace(answer, "Sending…");
    try {
      const { is_delivered: isDelivered, error } = await send("POST", `notifications/${encodeURIComponent(name)}/test`, {});
      replace(answer, isDelivered ? badge("delivered", "good") : [badge("not delivered", "bad"), " ", remote(error)]);
      if (isDelivered) await reload();
    } catch (error) {
      replace(answer, problem(error));
    } finally {
      started.disabled = false;
    }
  };
  const started = button("Test", run, { "aria-label": `Test ${name}` });
  return h("div", { class: "row" }, started, answer);
}

function delivery(one) {
  if (one.at === null) return h("div", {}, badge(`${one.channel}: not yet`, "warn"));
  if (!one.error) return h("div", { title: instant(one.at) }, badge(`${one.channel}: sent`, "good"));
  return h("div", { title: one.error }, badge(`${one.channel}: not sent`, "bad"), " ", remote(one.error));
}
