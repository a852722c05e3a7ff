/** The speed of all crawls by weekday and hour: a grid that is painted with limits. */

import { get } from "./api.js";
import { changeButton, may } from "./dialog.js";
import { button, field, freshId, h, replace } from "./dom.js";
import { bytes, distance, moment, number, plural } from "./format.js";
import { heading, section, sentence } from "./parts.js";
import { table } from "./table.js";
import { DAYS, gridOf, hasFractions, keyOf, NO_LIMIT, speedsOf } from "./week.js";

const DAY_NAMES = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
const ARROWS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

const CHANGE = "operate all";

/** Return the page. */
export async function show({ signal, reload }) {
  const found = await get("speed", {}, signal);
  const { speeds } = found;
  const isEditable = may(CHANGE);
  const editor = new Editor(gridOf(speeds), hasFractions(speeds) ? speeds : null, isEditable);
  const change = {
    title: "Set the speed", method: "PUT", path: "speed", expires: true, verb: "Set",
    text: "The limits hold for all crawls and all fetchers together.", body: () => ({ speeds: speedsOf(editor.grid) }),
    replaces: found.at,
  };
  return [
    heading("Speed", changeButton("Apply…", CHANGE, change, reload, { class: "primary" }),
      isEditable && button("Discard", () => reload())),
    sentence(describe(found)),
    hasFractions(speeds) && h("p", { class: "warn" },
      "Some limits begin or end within an hour. The grid shows the limit at the start of each hour, and applying it rounds them."),
    isEditable && section("Limit to paint with", editor.palette),
    section("Week, in UTC", isEditable && h("p", { class: "hint" },
      "Paint with the mouse. With the keyboard: arrows move, space paints, shift and arrows paint on the way."), editor.element),
    section("The limits in words", editor.list),
  ];
}

function describe(found) {
  const now = new Date();
  const until = found.until ? `, until ${moment(found.until)} (${distance(found.until)})` : "";
  return `${limitText(found.active).replace(/^./, (c) => c.toUpperCase())} now${until}; ${DAY_NAMES[(now.getUTCDay() + 6) % 7]} ` +
    `${now.toISOString().slice(11, 16)} UTC.`;
}

/** Return a limit in words. */
export function limitText(limit) {
  if (limit.pages === 0) return "no visits at all";
  const parts = [];
  if (limit.pages !== null && limit.pages !== undefined) parts.push(`at most ${plural(limit.pages, "page")} a second`);
  if (limit.bytes !== null && limit.bytes !== undefined) parts.push(`at most ${bytes(limit.bytes)} a second`);
  return parts.join(" and ") || "no limit";
}

/** The grid, the limits to paint with, and the list that results. */
class Editor {
  /** *exact*: the limits that the *grid* rounds, which are listed until it is painted; null if it rounds none. */
  constructor(grid, exact, isEditable) {
    this.isEditable = isEditable;
    this.exact = exact;
    this.grid = grid.map((hours) => [...hours]);
    this.limits = new Map([NO_LIMIT, { pages: 0, bytes: null }, ...grid.flat()].map((limit) => [keyOf(limit), limit]));
    this.brush = [...this.limits.keys()].at(-1);
    this.isPainting = false;
    this.palette = h("div", { class: "list" });
    this.list = h("div");
    this.cells = [];
    this.element = h("div", { class: "scroll", tabindex: -1 }, this.drawGrid());
    this.drawPalette();
    this.drawCells();
    document.addEventListener("pointerup", () => { this.isPainting = false; });
  }

  drawPalette() {
    const name = freshId("brush");
    const pages = h("input", { type: "number", min: 0, step: "any", name: "pages" });
    const kilobytes = h("input", { type: "number", min: 1, step: "any", name: "bytes" });
    const add = () => {
      if (pages.value === "" && kilobytes.value === "") return;
      const limit = {
        pages: pages.value === "" ? null : Number(pages.value),
        bytes: kilobytes.value === "" ? null : Math.round(Number(kilobytes.value) * 1000),
      };
      this.limits.set(keyOf(limit), limit);
      this.brush = keyOf(limit);
      this.drawPalette();
      this.drawCells();
    };
    replace(
      this.palette,
      h("fieldset", { class: "brushes" }, h("legend", { class: "unseen" }, "Limit to paint with"),
        [...this.limits].map(([key, limit]) => h("label", { class: "brush" },
          h("input", {
            type: "radio", name, checked: key === this.brush, on: { change: () => { this.brush = key; } },
          }),
          h("span", { class: "swatch", "data-class": this.kindOf(limit) }, this.letter(limit)), limitText(limit)))),
      h("div", { class: "filters" }, field("Pages a second", pages), field("Kilobytes a second", kilobytes),
        button("Add this limit", add)),
    );
  }

  kindOf(limit) {
    if (limit.pages === 0) return "stop";
    const index = [...this.limits.keys()].filter((key) => !key.startsWith("0/")).indexOf(keyOf(limit));
    return index > 4 ? 1 + ((index - 1) % 4) : index;
  }

  letter(limit) {
    if (limit.pages === 0) return "0";
    const index = [...this.limits.keys()].filter((key) => !key.startsWith("0/")).indexOf(keyOf(limit));
    return index ? String.fromCharCode(64 + index) : "–";
  }

  drawGrid() {
    const head = h("tr", { role: "row" }, h("th", { role: "columnheader" }, h("span", { class: "unseen" }, "Day")),
      Array.from({ length: 24 }, (_, hour) => h("th", { role: "columnheader", scope: "col" }, String(hour).padStart(2, "0"))));
    const rows = DAYS.map((day, number) => {
      this.cells[number] = Array.from({ length: 24 }, (_, hour) => h("td", {
        role: "gridcell", tabindex: number || hour ? -1 : 0,
        on: {
          pointerdown: (event) => this.press(event, number, hour),
          click: () => this.touch(number, hour),
          pointerenter: () => this.isPainting && this.paint(number, hour),
          keydown: (event) => this.key(event, number, hour),
        },
      }));
      return h("tr", { role: "row" }, h("th", { role: "rowheader", scope: "row" }, day), this.cells[number]);
    });
    return h("table", { class: "week", role: "grid", "aria-label": "Limits by weekday and hour, in UTC" },
      h("thead", { role: "rowgroup" }, head), h("tbody", { role: "rowgroup" }, rows));
  }

  drawCells() {
    this.grid.forEach((hours, day) => hours.forEach((_, hour) => this.drawCell(day, hour)));
    this.describe();
  }

  drawCell(day, hour) {
    const limit = this.grid[day][hour];
    const cell = this.cells[day][hour];
    cell.textContent = this.letter(limit);
    cell.dataset.class = this.kindOf(limit);
    cell.setAttribute("aria-label", `${DAY_NAMES[day]} ${String(hour).padStart(2, "0")}:00: ${limitText(limit)}`);
  }

  describe() {
    const speeds = this.exact ?? speedsOf(this.grid);
    replace(this.list, table("Limits", [
      { name: "When (UTC)", cell: (speed) => h("code", {}, speed.when || "always") },
      { name: "Limit", cell: (speed) => limitText(speed) },
    ], speeds, "No limit at any time."));
  }

  press(event, day, hour) {
    // A finger that moves scrolls the grid; a tap ends in a click.
    if (event.pointerType === "touch") return;
    event.preventDefault();
    this.isPainting = true;
    this.touch(day, hour);
  }

  touch(day, hour) {
    this.paint(day, hour);
    this.focus(day, hour);
  }

  paint(day, hour) {
    if (!this.isEditable) return;
    this.grid[day][hour] = this.limits.get(this.brush);
    this.exact = null;
    this.drawCell(day, hour);
    this.describe();
  }

  focus(day, hour) {
    for (const cell of this.cells.flat()) cell.tabIndex = -1;
    this.cells[day][hour].tabIndex = 0;
    this.cells[day][hour].focus();
  }

  key(event, day, hour) {
    if (event.key === " " || event.key === "Enter") {
      event.preventDefault();
      this.paint(day, hour);
    }
    const [down, right] = ARROWS[event.key] ?? [0, 0];
    if (!down && !right) return;
    event.preventDefault();
    const [nextDay, nextHour] = [(day + down + 7) % 7, (hour + right + 24) % 24];
    if (event.shiftKey) {
      this.paint(day, hour);
      this.paint(nextDay, nextHour);
    }
    this.focus(nextDay, nextHour);
  }
}
