/** Erasures: everything about a URL, a host or a site is erased, as its owner may demand. */

import { get } from "./api.js";
import { changeButton } from "./dialog.js";
import { field, h, remote } from "./dom.js";
import { distance, instant, moment, number } from "./format.js";
import { live } from "./live.js";
import { badge, heading, sentence } from "./parts.js";
import { table } from "./table.js";

/** Return the page. */
export async function show({ signal }) {
  return [
    heading("Erasures"),
    sentence("Everything about a URL, a host or a site can be erased in all crawls: on its page, with “Erase…”. " +
      "A request is listed when the first service handles it, and stays for ever."),
    await live(async () => [...await get("erasures", {}, signal)].reverse(), list, signal),
  ];
}

function list(found) {
  return table("Erasures", [
    { name: "Time", cell: (one) => h("span", { title: instant(one.at) }, `${moment(one.at)} (${distance(one.at)})`) },
    { name: "Target", cell: (one) => remote(one.target) },
    { name: "State", cell: (one) => state(one) },
    { name: "Rows", minor: true, cell: (one) => Object.entries(one.rows).map(([name, count]) => `${name}: ${number(count)}`).join(", ") },
    { name: "Requested by", minor: true, cell: (one) => remote(one.requested_by) },
  ], found, "Nothing was erased on demand.");
}

function state(one) {
  return one.waiting_for.length ? [badge("being erased", "warn"), ` by ${one.waiting_for.join(", ")}`] : badge("erased", "good");
}

/** Return the button that erases everything about *target*: a URL, the key of a host, or a site; null without the right. */
export function eraseButton(kind, target, reload) {
  return changeButton("Erase…", "admin all", () => erasure(kind, target), reload, { class: "danger" });
}

function erasure(kind, target) {
  const forever = h("input", { type: "checkbox" });
  return {
    title: `Erase the ${kind}`, verb: "Erase", danger: true, method: "POST", path: "erasures", confirmation: target,
    text: ["Everything about ", remote(target), " is erased in all crawls: its rows, documents and archived pages. " +
      "The audit log and the list of erasures name it for ever."],
    fields: [field(`Also block the ${kind}, so that it is not visited again`, forever)],
    body: () => ({ target, forever: forever.checked }),
  };
}
