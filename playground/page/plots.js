import { time } from "./format.js";

/**
 * @typedef {import("../protocol.ts").ColumnResult} ColumnResult
 * @typedef {import("./charts.js").Plot} Plot
 */

/**
 * The curve of a metric for every ranker, and dashed for the baseline.
 *
 * @param {"recall" | "ndcg"} metric
 * @param {readonly ColumnResult[]} now
 * @param {readonly (ColumnResult | undefined)[]} before
 * @param {readonly string[]} names
 * @returns {Plot}
 */
export function curves(metric, now, before, names) {
  const depth = now[0]?.[metric].length ?? 0;
  const told = now
    .map((each, index) => `${names[index]}: ${((each[metric][9] ?? 0) * 100).toFixed(1)} at 10`)
    .join("; ");
  return {
    x: Array.from({ length: depth }, (_, index) => index + 1),
    ...createLines(now, before, names, (each) => each[metric]),
    label: String,
    shape: "line",
    rest: Math.min(9, depth - 1),
    unit: "k =",
    told: `${metric === "recall" ? "Recall" : "nDCG"} in percent. ${told}.`,
  };
}

/**
 * Plots the distribution of times or tokens for every ranker. Empty bins at both ends are cut off.
 *
 * @param {"latency" | "tokens"} what
 * @param {readonly ColumnResult[]} now
 * @param {readonly (ColumnResult | undefined)[]} before
 * @param {readonly string[]} names
 * @returns {Plot}
 */
export function histograms(what, now, before, names) {
  const all = [...now, ...before].flatMap((each) => (each ? [each[what].histogram] : []));
  const edges = all[0]?.edges ?? [];
  const used = edges.map((_, bin) => all.some(({ counts }) => (counts[bin] ?? 0) > 0));
  const from = Math.max(0, used.indexOf(true) - 1);
  const to = Math.min(edges.length - 1, used.lastIndexOf(true) + 2);
  const heights = edges.map((_, bin) =>
    now.reduce((sum, each) => sum + (each[what].histogram.counts[bin] ?? 0), 0),
  );
  const fullest = heights.indexOf(Math.max(...heights));
  const label = (/** @type {number} */ bin) => {
    const edge = edges[bin];
    return edge === undefined ? "" : what === "latency" ? time(edge) : String(edge);
  };
  const told = now.map(
    (each, index) =>
      `${names[index]}: half within ${what === "latency" ? time(each.latency.p50) : each.tokens.p50}`,
  );
  return {
    x: Array.from({ length: to - from + 1 }, (_, index) => from + index),
    ...createLines(now, before, names, ({ [what]: { histogram } }) => {
      const total = histogram.counts.reduce((sum, count) => sum + count, 0) || 1;
      return [...histogram.counts.slice(from, to).map((count) => count / total), 0];
    }),
    label,
    shape: "steps",
    rest: fullest - from,
    unit: "from",
    told: `${what === "latency" ? "Time of a query" : "Tokens of an answer"}. ${told.join("; ")}.`,
  };
}

/**
 * @param {readonly ColumnResult[]} now
 * @param {readonly (ColumnResult | undefined)[]} before
 * @param {readonly string[]} names
 * @param {(result: ColumnResult) => readonly number[]} values
 */
function createLines(now, before, names, values) {
  const pinned = before.flatMap((result, index) => (result ? [{ result, index }] : []));
  return {
    lines: [...now.map(values), ...pinned.map(({ result }) => values(result))],
    names: [...names, ...pinned.map(({ result }) => `${result.column.ranker}, baseline`)],
    series: [...now.keys(), ...pinned.map(({ index }) => index)].map((index) => index + 1),
    dashed: [...now.map(() => false), ...pinned.map(() => true)],
  };
}
