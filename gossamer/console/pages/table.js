/** Tables: a small one with all its rows, and a virtual one that loads and draws what is visible. */

import { button, h, replace } from "./dom.js";
import { number } from "./format.js";
import { isInUse, poll } from "./live.js";

const ROW_HEIGHT = 34;
const EXTRA_ROWS = 12;

/**
 * Return a table with all *rows*.
 *
 * A column is `{name, cell(row), numeric?, minor?, narrow?}`. *minor* columns are hidden on a phone, and
 * *narrow* ones do not break lines.
 */
export function table(label, columns, rows, empty = "Nothing to show.") {
  if (!rows.length) return h("p", { class: "empty" }, empty);
  return h(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": label },
    h(
      "table",
      {},
      h("caption", { class: "unseen" }, label),
      h("thead", {}, h("tr", {}, columns.map((column) => h("th", { scope: "col", class: kinds(column) }, column.name)))),
      h("tbody", {}, rows.map((row) => h("tr", {}, cells(columns, row)))),
    ),
  );
}

function kinds(column) {
  return [column.numeric && "numeric", column.minor && "minor", column.narrow && "narrow"].filter(Boolean).join(" ");
}

function cells(columns, row) {
  return columns.map((column) => h("td", { class: kinds(column) }, column.cell(row)));
}

/**
 * A table of any number of rows. Rows are loaded by cursor, and only visible rows have elements.
 *
 * Columns are as those of `table`. Optional are `sort`, the name by which the server sorts, and `ascending`.
 */
export class VirtualTable {
  /** *load(cursor)* returns a page as `getPage` does; *sorted(name)* is told the chosen column. */
  constructor({ label, columns, load, sort = "", sorted = null, empty = "Nothing to show.", status }) {
    Object.assign(this, { label, columns, load, sort, sorted, empty, status });
    this.items = [];
    this.cursor = null;
    this.isComplete = false;
    this.isLoading = false;
    this.firstLength = 0;
    this.drawn = new Map();
    this.body = h("tbody");
    this.above = h("tr", { "aria-hidden": "true", class: "spacer" }, h("td", { colspan: columns.length }));
    this.below = h("tr", { "aria-hidden": "true", class: "spacer" }, h("td", { colspan: columns.length }));
    this.table = h(
      "table",
      { class: "virtual" },
      h("caption", { class: "unseen" }, label),
      h("thead", {}, h("tr", { "aria-rowindex": 1 }, columns.map((column) => this.heading(column)))),
      this.body,
    );
    this.region = h(
      "div",
      {
        class: "scroll tall", tabindex: 0, role: "region", "aria-label": label,
        on: { scroll: () => this.draw() },
      },
      this.table,
    );
    this.note = h("p", { class: "hint", role: "status" });
    this.more = button("Load more", () => this.loadMore(), { class: "more", hidden: true });
    this.element = h("div", { class: "list" }, this.region, h("div", { class: "row" }, this.note, this.more));
    // The number of visible rows changes with the height of the region.
    new ResizeObserver(() => this.draw()).observe(this.region);
  }

  heading(column) {
    const props = { scope: "col", class: kinds(column) };
    if (!column.sort || !this.sorted) return h("th", props, column.name);
    const isChosen = this.sort === column.sort;
    return h(
      "th",
      { ...props, "aria-sort": isChosen ? (column.ascending ? "ascending" : "descending") : "none" },
      button(column.name, () => this.sorted(column.sort), { class: "sort", title: `Sort by ${column.name}` }),
    );
  }

  /** Load the next page, if there is one. */
  async loadMore() {
    if (this.isComplete || this.isLoading) return;
    this.isLoading = true;
    try {
      this.add(await this.load(this.cursor));
    } finally {
      this.isLoading = false;
    }
  }

  add(page) {
    if (!this.items.length) this.firstLength = page.items.length;
    this.items.push(...page.items);
    this.cursor = page.next;
    this.isComplete = page.next === null;
    this.total = page.total;
    this.isPartial = page.isPartial;
    this.draw();
    this.describe();
  }

  /** Load the first page again every few seconds until *signal* aborts, unless more of the list is in use. */
  refresh(signal) {
    const again = async () => {
      const isUsed = () => this.isLoading || this.region.scrollTop > 0 || isInUse(this.region) ||
        this.items.length > this.firstLength;
      if (isUsed()) return;
      const page = await this.load(null);
      if (isUsed() || JSON.stringify(page.items) === JSON.stringify(this.items)) return;
      for (const row of this.drawn.values()) row.remove();
      this.drawn.clear();
      this.items = [];
      this.add(page);
    };
    poll(again, signal);
  }

  describe() {
    if (!this.items.length && this.isComplete && !this.isPartial) {
      replace(this.note, this.empty);
    } else {
      const of = this.total > this.items.length ? ` of ${number(this.total)}` : this.isComplete ? "" : ", more follow";
      const more = this.isComplete ? "" : ": load more to go on";
      const partial = this.isPartial ? ` The search stopped at its limit${more}.` : "";
      replace(this.note, `${number(this.items.length)} shown${of}.${partial}`);
    }
    this.more.hidden = this.isComplete;
    const rows = this.isComplete ? this.items.length + 1 : -1;
    this.table.setAttribute("aria-rowcount", this.total ? this.total + 1 : rows);
  }

  /** Draw the rows that are visible. A row keeps its element while it is visible or has the focus. */
  draw() {
    const { scrollTop, clientHeight } = this.region;
    const first = Math.max(0, Math.floor(scrollTop / ROW_HEIGHT) - EXTRA_ROWS);
    const last = Math.min(this.items.length, Math.ceil((scrollTop + (clientHeight || 600)) / ROW_HEIGHT) + EXTRA_ROWS);
    for (const [index, row] of this.drawn) {
      if (index < first || index >= last) {
        row.remove();
        this.drawn.delete(index);
      }
    }
    this.above.firstChild.style.setProperty("height", `${first * ROW_HEIGHT}px`);
    this.below.firstChild.style.setProperty("height", `${(this.items.length - last) * ROW_HEIGHT}px`);
    if (!this.above.isConnected) this.body.append(this.above, this.below);
    let next = this.above.nextSibling;
    for (let index = first; index < last; index += 1) {
      let row = this.drawn.get(index);
      if (!row) {
        row = h("tr", { "aria-rowindex": index + 2 }, cells(this.columns, this.items[index]));
        this.drawn.set(index, row);
        this.body.insertBefore(row, next);
      }
      next = row.nextSibling;
    }
    if (last >= this.items.length - EXTRA_ROWS && this.items.length && scrollTop > 0) {
      this.loadMore().catch((error) => replace(this.note, error.message));
    }
  }
}

/** Return a list of names with values: `[[name, value], …]`; empty values are omitted. */
export function facts(pairs) {
  return h(
    "dl",
    { class: "facts" },
    pairs
      .filter(([, value]) => value !== null && value !== undefined && value !== "" && value !== false && value !== 0)
      .map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))),
  );
}
