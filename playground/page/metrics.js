import { h } from "./dom.js";
import { percent, signed, time } from "./format.js";

/**
 * @typedef {import("../protocol.ts").ColumnResult} ColumnResult
 *
 * @typedef {object} Metric A column of the table.
 * @property {string} name
 * @property {string} [hint]
 * @property {(result: ColumnResult) => number | undefined} of
 * @property {(value: number) => string} format
 * @property {(difference: number, before: number) => string} difference What changed, or nothing where it is noise.
 * @property {1 | -1} better Whether more is better.
 * @property {boolean} [vague] Whether a difference may be chance, so that it is neither good nor bad.
 */

const points = {
  format: percent,
  difference: (/** @type {number} */ by) => signed(by * 100),
  better: /** @type {const} */ (1),
};
/** Two runs of the same differ by as much. */
const NOISE = 0.5;
const times = {
  format: time,
  difference: (/** @type {number} */ by, /** @type {number} */ before) =>
    Math.abs(by) < before * NOISE
      ? ""
      : `${by > 0 ? "+" : "−"}${Math.round((Math.abs(by) / before) * 100)} %`,
  better: /** @type {const} */ (-1),
  vague: true,
};

/** @type {readonly Metric[]} */
const metrics = [
  { name: "R@1", hint: "Recall among the first", of: ({ recall }) => recall[0], ...points },
  { name: "R@5", hint: "Recall among the first five", of: ({ recall }) => recall[4], ...points },
  { name: "R@10", hint: "Recall among the first ten", of: ({ recall }) => recall[9], ...points },
  {
    name: "nDCG@10",
    hint: "Gain of the first ten, where an early place counts more",
    of: ({ ndcg }) => ndcg[9],
    ...points,
  },
  {
    name: "MRR",
    hint: "Mean of one divided by the place of the first wanted tool",
    of: ({ mrr }) => mrr,
    ...points,
  },
  {
    name: "Silent",
    hint: "Queries that no tool answers, and that got no answer",
    of: ({ silent }) => silent,
    ...points,
  },
  { name: "p50", hint: "Half of the queries take no longer", of: ({ latency }) => latency.p50, ...times },
  {
    name: "p95",
    hint: "95 of 100 queries take no longer",
    of: ({ latency }) => latency.p95,
    ...times,
    difference: () => "",
  },
  {
    name: "Index",
    hint: "Taking in the whole catalog",
    of: ({ indexMs }) => indexMs,
    ...times,
    difference: () => "",
  },
  {
    name: "Tokens",
    hint: "What half of the answers take of a context at most",
    of: ({ tokens }) => tokens.p50,
    format: (value) => String(Math.round(value)),
    difference: (by) => signed(by, 0),
    better: -1,
  },
];

/**
 * Renders the metrics of every ranker beside the baseline.
 *
 * @param {readonly ColumnResult[]} now
 * @param {readonly (ColumnResult | undefined)[]} before
 * @param {readonly string[]} names
 * @returns {HTMLElement[]}
 */
export function metricRows(now, before, names) {
  const used = metrics.filter(({ of }) => now.some((result) => of(result) !== undefined));
  // To be fast, or brief, is no merit where nothing is found.
  const best = used.map(({ of, better }) =>
    better > 0 ? Math.max(...now.map((result) => of(result) ?? 0)) : undefined,
  );
  return [
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        h("th", { scope: "col" }, "Ranker"),
        used.map(({ name, hint }) => h("th", { scope: "col", class: "figure", title: hint }, name)),
      ),
    ),
    h(
      "tbody",
      {},
      now.map((result, row) =>
        h(
          "tr",
          { "data-series": row + 1 },
          h("th", { scope: "row" }, h("span", { class: "dot", "aria-hidden": "true" }), names[row]),
          used.map((metric, at) => cell(metric, result, before[row], now.length > 1 ? best[at] : undefined)),
        ),
      ),
    ),
  ];
}

/**
 * @param {Metric} metric
 * @param {ColumnResult} result
 * @param {ColumnResult | undefined} before
 * @param {number | undefined} best
 */
function cell({ of, format, difference, better, vague }, result, before, best) {
  const value = of(result);
  if (value === undefined) return h("td", { class: "figure" }, "–");
  const earlier = before && of(before);
  const by = earlier === undefined ? 0 : value - earlier;
  const text = earlier === undefined ? "" : difference(by, earlier);
  return h(
    "td",
    { class: `figure number${value === best ? " best" : ""}` },
    format(value),
    text !== "" &&
      h("span", { class: `difference ${vague ? "note" : by * better > 0 ? "better" : "worse"}` }, text),
  );
}
