import { chartLook, color } from "./chart-look.js";
import { h } from "./dom.js";
import { count, duration } from "./format.js";
import uPlot from "./uplot.js";

/**
 * @typedef {import("../timeline.ts").Series} Series
 * @typedef {object} Line
 * @property {string} name
 * @property {number} series The number of its color.
 * @property {readonly (number | null)[]} values
 * @property {boolean} [filled]
 */

const HEIGHT = 190;
/** There is no half of a call. */
const WHOLE = [1, 2, 5]
  .flatMap((step) => [0, 1, 2, 3, 4, 5].map((power) => step * 10 ** power))
  .sort((a, b) => a - b);
/** @type {Map<HTMLElement, { plot: uPlot | undefined, draw: () => void, update: (x: number[], lines: readonly Line[]) => void }>} */
const drawn = new Map();

/** @param {Series} series */
export function drawSeries({ stepMs, from, calls, errors, p50, p95 }) {
  const x = calls.map((_, index) => (from + index * stepMs) / 1000);
  const sum = (/** @type {readonly number[]} */ all) => all.reduce((total, one) => total + one, 0);
  draw(
    "chart-calls",
    x,
    [
      { name: "all", series: 1, values: calls, filled: true },
      { name: "failed", series: 4, values: errors, filled: true },
    ],
    (value) => count(Math.round(value)),
    `Calls in the last half hour: ${sum(calls)}, of which ${sum(errors)} failed.`,
    WHOLE,
  );
  draw(
    "chart-latency",
    x,
    [
      { name: "half within", series: 3, values: p50 },
      { name: "95 % within", series: 2, values: p95 },
    ],
    duration,
    `Latency. The last 10 seconds with a call: half within ${duration(findLast(p50))}, 95 % within ${duration(findLast(p95))}.`,
  );
}

/** Draws all charts again: a canvas does not know that the colors have changed. */
export function redrawCharts() {
  for (const { draw: again } of drawn.values()) again();
}

/** @param {readonly (number | null)[]} values */
function findLast(values) {
  return values.findLast((value) => value !== null);
}

/**
 * @param {string} id
 * @param {number[]} x
 * @param {readonly Line[]} lines
 * @param {(value: number) => string} show
 * @param {string} told What is told to who cannot see it.
 * @param {number[]} [incrs] What an axis may be divided by.
 */
function draw(id, x, lines, show, told, incrs) {
  const place = /** @type {HTMLElement} */ (document.getElementById(id));
  place.setAttribute("role", "img");
  place.setAttribute("aria-label", told);
  const own = drawn.get(place);
  if (own) {
    own.update(x, lines);
    return;
  }
  let [nowX, now] = [x, lines];
  const canvas = h("div", { class: "canvas" });
  const values = lines.map(() => h("b", { class: "number" }));
  const legend = h(
    "ul",
    { class: "legend" },
    lines.map(({ name, series }, index) =>
      h("li", { "data-series": series }, h("span", { class: "dot" }), `${name} `, values[index]),
    ),
  );
  place.replaceChildren(canvas, legend);
  const point = (/** @type {number | null | undefined} */ at) => {
    now.forEach(({ values: all }, index) => {
      const value = at === null || at === undefined ? findLast(all) : all[at];
      const element = values[index];
      if (element) element.textContent = value === null || value === undefined ? "–" : show(value);
    });
  };
  const data = () => /** @type {uPlot.AlignedData} */ ([nowX, ...now.map((line) => line.values)]);
  /** @type {{ plot: uPlot | undefined, draw: () => void, update: (x: number[], lines: readonly Line[]) => void }} */
  const entry = {
    plot: undefined,
    draw() {
      entry.plot?.destroy();
      entry.plot = new uPlot(createOptions(canvas, now, { show, incrs }, point), data(), canvas);
      point(undefined);
    },
    update(nextX, next) {
      [nowX, now] = [nextX, next];
      entry.plot?.setData(data());
      point(entry.plot?.cursor.idx);
    },
  };
  drawn.set(place, entry);
  new ResizeObserver(() => {
    if (entry.plot && canvas.clientWidth > 0)
      entry.plot.setSize({ width: canvas.clientWidth, height: HEIGHT });
  }).observe(canvas);
  entry.draw();
}

/**
 * @param {HTMLElement} place
 * @param {readonly Line[]} lines
 * @param {{ show: (value: number) => string, incrs: number[] | undefined }} scale
 * @param {(at: number | null | undefined) => void} onPoint
 * @returns {uPlot.Options}
 */
function createOptions(place, lines, { show, incrs }, onPoint) {
  const { axis, frame } = chartLook(place, HEIGHT, onPoint);
  return {
    ...frame,
    padding: [10, 8, 0, 0],
    scales: { x: { time: true }, y: { range: (_self, _min, max) => [0, Math.max((max ?? 0) * 1.15, 1)] } },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 28,
        space: 70,
        values: (_self, at) =>
          at.map((seconds) => new Date(seconds * 1000).toLocaleTimeString("en-GB").slice(0, 5)),
      },
      {
        ...axis,
        size: 58,
        gap: 6,
        space: 36,
        ...(incrs && { incrs }),
        values: (_self, at) => at.map((value) => (value === 0 ? "0" : show(value))),
      },
    ],
    series: [
      {},
      ...lines.map(({ name, series, filled }) => ({
        label: name,
        stroke: color(place, `--series-${series}`),
        width: 2,
        spanGaps: true,
        points: { show: !filled, size: 4 },
        ...(filled && { fill: color(place, `--wash-${series}`) }),
      })),
    ],
  };
}
