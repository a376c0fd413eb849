import { h } from "./dom.js";
import { signed } from "./format.js";

/**
 * @typedef {import("../protocol.ts").Evaluation} Evaluation
 * @typedef {import("../protocol.ts").QueryOutcome} QueryOutcome
 * @typedef {import("../protocol.ts").LabelledQuery} LabelledQuery
 *
 * @typedef {object} Change How a query went before, and how it goes now.
 * @property {LabelledQuery} labelled
 * @property {QueryOutcome} before
 * @property {QueryOutcome} now
 * @property {number} by What its nDCG lost or gained.
 */

/** Rows before "show all". */
const SHOWN = 12;

/**
 * Compares two rankers query by query; queries that only one of them was asked are left out.
 *
 * @param {Evaluation} was
 * @param {number} wasColumn
 * @param {Evaluation} is
 * @param {number} isColumn
 * @returns {Change[]}
 */
export function changes(was, wasColumn, is, isColumn) {
  /** @type {Map<string, QueryOutcome | undefined>} */
  const earlier = new Map(was.queries.map(({ query }, at) => [query, was.columns[wasColumn]?.outcomes[at]]));
  return is.queries.flatMap((labelled, at) => {
    const before = earlier.get(labelled.query);
    const now = is.columns[isColumn]?.outcomes[at];
    return before && now ? [{ labelled, before, now, by: now.ndcg - before.ndcg }] : [];
  });
}

/**
 * The queries that got worse, the worst first.
 *
 * @param {readonly Change[]} all
 * @param {(query: string) => void} show
 * @param {(() => void) | undefined} showAll Not there where all are shown.
 * @returns {HTMLElement[]}
 */
export function lossRows(all, show, showAll) {
  const worse = all
    .filter(({ by }) => by < -1e-9)
    .sort((a, b) => a.by - b.by || (a.labelled.query < b.labelled.query ? -1 : 1));
  if (worse.length === 0)
    return [h("tbody", {}, h("tr", {}, h("td", { class: "none-worse" }, "No query got worse.")))];
  const head = ["Query", "Wanted", "Came first", "Place", "nDCG"].map((text, at) =>
    h("th", { scope: "col", class: at > 2 ? "figure" : "" }, text),
  );
  return [
    h("thead", {}, h("tr", {}, head)),
    h(
      "tbody",
      {},
      (showAll ? worse.slice(0, SHOWN) : worse).map(({ labelled, before, now, by }) =>
        h(
          "tr",
          {},
          h(
            "th",
            { scope: "row" },
            h(
              "button",
              { class: "link", title: "Search for this", onclick: () => show(labelled.query) },
              labelled.query,
            ),
          ),
          h(
            "td",
            {},
            labelled.relevant.length > 0 ? ids(labelled.relevant) : h("span", { class: "note" }, "no tool"),
          ),
          h(
            "td",
            {},
            now.top.length > 0 ? ids(now.top.slice(0, 1)) : h("span", { class: "note" }, "no tool"),
          ),
          h("td", { class: "figure number" }, listRanks(labelled, before, now)),
          h("td", { class: "figure number worse" }, signed(by * 100)),
        ),
      ),
    ),
    ...(showAll && worse.length > SHOWN
      ? [
          h(
            "tfoot",
            {},
            h(
              "tr",
              {},
              h(
                "td",
                { colspan: 5 },
                h("button", { class: "quiet", onclick: showAll }, `Show all ${worse.length}`),
              ),
            ),
          ),
        ]
      : []),
  ];
}

/**
 * In one line: how many got worse, and how many better.
 *
 * @param {readonly Change[]} all
 */
export function tally(all) {
  const worse = all.filter(({ by }) => by < -1e-9).length;
  const better = all.filter(({ by }) => by > 1e-9).length;
  return `${worse} worse · ${better} better · ${all.length - worse - better} the same`;
}

/** @param {readonly string[]} all */
function ids(all) {
  return h(
    "span",
    { class: "ids" },
    all.slice(0, 3).map((id) => h("code", {}, id)),
    all.length > 3 && h("span", { class: "note" }, `and ${all.length - 3} more`),
  );
}

/**
 * @param {LabelledQuery} labelled
 * @param {QueryOutcome} before
 * @param {QueryOutcome} now
 */
function listRanks({ relevant }, before, now) {
  if (relevant.length === 0) return "";
  return `${before.rank || "–"} → ${now.rank || "–"}`;
}
