import { chartLook, color } from "./chart-look.js";
import { h } from "./dom.js";
import uPlot from "./uplot.js";

/**
 * @typedef {object} Plot What is drawn: values over places, one line a ranker.
 * @property {readonly number[]} x
 * @property {readonly (readonly number[])[]} lines
 * @property {readonly string[]} names
 * @property {readonly number[]} series The numbers of the rankers' colors, from 1.
 * @property {readonly boolean[]} dashed
 * @property {(x: number) => string} label
 * @property {"line" | "steps"} shape
 * @property {number} rest The place whose values are shown while nothing is pointed at.
 * @property {string} unit What a place is called.
 * @property {string} told What is told to who cannot see it.
 */

const HEIGHT = 210;
/** @type {Map<HTMLElement, { draw: () => void, plot: uPlot | undefined }>} */
const drawn = new Map();

/**
 * Draws a chart in a place, which it fills whenever that changes.
 *
 * @param {HTMLElement} place
 * @param {Plot} plot
 */
export function drawChart(place, plot) {
  const own = drawn.get(place) ?? { draw: () => {}, plot: undefined };
  if (!drawn.has(place)) {
    drawn.set(place, own);
    new ResizeObserver(() => {
      if (own.plot && place.clientWidth > 0) own.plot.setSize({ width: place.clientWidth, height: HEIGHT });
    }).observe(place);
  }
  own.draw = () => {
    own.plot?.destroy();
    place.replaceChildren();
    place.setAttribute("role", "img");
    place.setAttribute("aria-label", plot.told);
    const legend = createLegend(plot);
    own.plot = new uPlot(
      createOptions(place, plot, legend.show),
      /** @type {uPlot.AlignedData} */ ([plot.x, ...plot.lines]),
      place,
    );
    place.append(legend.element);
  };
  own.draw();
}

/** Draws all charts again: a canvas does not know that the colors have changed. */
export function redrawCharts() {
  for (const { draw } of drawn.values()) draw();
}

/**
 * The names of the lines, with their values where the pointer is; what the baseline has stands in brackets.
 *
 * @param {Plot} plot
 */
function createLegend({ x, lines, names, series, dashed, label, rest, unit }) {
  const place = h("span", { class: "at number" });
  const rows = names.flatMap((name, line) => {
    if (dashed[line]) return [];
    const value = h("b", { class: "number" });
    const earlier = h("span", { class: "number note" });
    const pinned = dashed.findIndex((isDashed, at) => isDashed && series[at] === series[line]);
    const item = h("li", { "data-series": series[line] }, h("span", { class: "dot" }), name, value, earlier);
    return [{ item, value, earlier, line, pinned }];
  });
  const text = (/** @type {number} */ line, /** @type {number} */ at) =>
    ((lines[line]?.[at] ?? 0) * 100).toFixed(1);
  const show = (/** @type {number | null | undefined} */ pointed) => {
    const at = pointed ?? rest;
    place.textContent = `${unit} ${label(x[at] ?? 0)}`;
    for (const { value, earlier, line, pinned } of rows) {
      value.textContent = text(line, at);
      earlier.textContent = pinned < 0 ? "" : `(${text(pinned, at)})`;
    }
  };
  show(undefined);
  return {
    element: h(
      "ul",
      { class: "legend" },
      rows.map(({ item }) => item),
      h("li", {}, place),
    ),
    show,
  };
}

/**
 * @param {HTMLElement} place
 * @param {Plot} plot
 * @param {(at: number | null | undefined) => void} onPoint
 * @returns {uPlot.Options}
 */
function createOptions(place, { lines, names, series, dashed, label, shape }, onPoint) {
  const { axis, frame } = chartLook(place, HEIGHT, onPoint);
  const steps = /** @type {NonNullable<typeof uPlot.paths.stepped>} */ (uPlot.paths.stepped)({ align: 1 });
  return {
    ...frame,
    padding: [12, 10, 0, 0],
    scales: {
      x: { time: false },
      y: { range: (_self, _min, max) => [0, shape === "line" ? 1 : Math.max(max * 1.1, 0.1)] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 30,
        gap: 7,
        space: shape === "line" ? 30 : 52,
        values: (_self, at) => at.map((x) => (Number.isInteger(x) ? label(x) : "")),
      },
      {
        ...axis,
        size: 38,
        gap: 6,
        space: 40,
        values: (_self, at) => at.map((y) => `${Math.round(y * 100)}`),
      },
    ],
    series: [
      {},
      ...lines.map((_, index) => ({
        label: names[index] ?? "",
        stroke: color(place, `--series-${series[index]}`),
        width: dashed[index] ? 1.25 : 2,
        points: { show: false },
        ...(dashed[index] && { dash: [4, 4] }),
        ...(shape === "steps" && {
          paths: steps,
          ...(!dashed[index] && { fill: color(place, `--wash-${series[index]}`) }),
        }),
      })),
    ],
  };
}
