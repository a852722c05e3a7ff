/** Charts in SVG, each with its numbers in a table. */

import { h, svg } from "./dom.js";
import { table } from "./table.js";

const WIDTH = 640;
const HEIGHT = 150;
const LEFT = 8;
const BOTTOM = 20;

/**
 * Return a chart of lines.
 *
 * *series* are `{name, values}`: numbers or null, one for each of *labels*. *format* makes text of a
 * value, *most* is the value at the top.
 */
export function lines(title, labels, series, format, most = null) {
  const top = most ?? Math.max(1e-9, ...series.flatMap((one) => one.values.map((value) => value ?? 0)));
  const x = (index) => LEFT + (index * (WIDTH - 2 * LEFT)) / Math.max(1, labels.length - 1);
  const y = (value) => HEIGHT - BOTTOM - (value / top) * (HEIGHT - BOTTOM - 14);
  const drawing = [
    ...grid(top, y, format),
    series.map((one, number) => [
      parts(one.values).map((part) =>
        svg("polyline", {
          class: `line series-${number}`,
          fill: "none",
          points: part.map((index) => `${x(index).toFixed(1)},${y(one.values[index]).toFixed(1)}`).join(" "),
        }),
      ),
      // A value without neighbours has no line.
      parts(one.values).filter((part) => part.length === 1).map(([index]) =>
        svg("circle", { class: `dot series-${number}`, cx: x(index), cy: y(one.values[index]), r: 3 }),
      ),
    ]),
    ends(labels, x),
  ];
  return figure(title, drawing, labels, series, format);
}

/** Return a chart of stacked bars, with parameters as `lines`. */
export function bars(title, labels, series, format) {
  const sums = labels.map((_, index) => series.reduce((sum, one) => sum + (one.values[index] ?? 0), 0));
  const top = Math.max(1e-9, ...sums);
  const step = (WIDTH - 2 * LEFT) / Math.max(1, labels.length);
  const width = Math.min(40, step * 0.8);
  const y = (value) => HEIGHT - BOTTOM - (value / top) * (HEIGHT - BOTTOM - 14);
  const drawing = [...grid(top, y, format)];
  labels.forEach((label, index) => {
    let below = 0;
    series.forEach((one, number) => {
      const value = one.values[index] ?? 0;
      if (!value) return;
      drawing.push(
        svg(
          "rect",
          {
            class: `bar series-${number}`,
            x: (LEFT + (index + 0.5) * step - width / 2).toFixed(1),
            y: y(below + value).toFixed(1),
            width: width.toFixed(1),
            height: (y(below) - y(below + value)).toFixed(1),
          },
          svg("title", {}, `${label}: ${one.name} ${format(value)}`),
        ),
      );
      below += value;
    });
  });
  drawing.push(ends(labels, (index) => LEFT + (index + 0.5) * step));
  return figure(title, drawing, labels, series, format);
}

function grid(top, y, format) {
  return [0, 0.5, 1].flatMap((share) => [
    svg("line", { class: "grid", x1: LEFT, x2: WIDTH - LEFT, y1: y(top * share), y2: y(top * share) }),
    share && svg("text", { class: "axis", x: LEFT, y: y(top * share) - 3 }, format(top * share)),
  ]);
}

function ends(labels, x) {
  if (!labels.length) return [];
  const last = labels.length - 1;
  const shown = [svg("text", { class: "axis", x: Math.max(LEFT, x(0) - 30), y: HEIGHT - 5 }, labels[0])];
  if (last) {
    shown.push(svg("text", { class: "axis", x: WIDTH - LEFT, y: HEIGHT - 5, "text-anchor": "end" }, labels[last]));
  }
  return shown;
}

/** Return runs of indexes whose values are known. */
function parts(values) {
  const found = [];
  values.forEach((value, index) => {
    if (value === null || value === undefined) return;
    const run = found.at(-1);
    if (run && run.at(-1) === index - 1) run.push(index);
    else found.push([index]);
  });
  return found;
}

function figure(title, drawing, labels, series, format) {
  const columns = [
    { name: "Time", cell: (index) => labels[index] },
    ...series.map((one) => ({ name: one.name, numeric: true, cell: (index) => format(one.values[index]) })),
  ];
  return h(
    "figure",
    { class: "chart" },
    h(
      "figcaption",
      {},
      title,
      series.length > 1 &&
        h("span", { class: "legend" }, series.map((one, number) =>
          h("span", { class: `key series-${number}` }, one.name))),
    ),
    svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, "aria-hidden": "true" }, drawing),
    h("details", {}, h("summary", {}, "Numbers"), table(title, columns, labels.map((_, index) => index))),
  );
}

/** Return a horizontal bar with the share *share* of its width, from 0 to 1. */
export function meter(share, label) {
  return h(
    "span",
    { class: "meter", role: "img", "aria-label": label },
    h("span", { style: { width: `${(100 * Math.min(1, Math.max(0, share || 0))).toFixed(1)}%` } }),
  );
}
