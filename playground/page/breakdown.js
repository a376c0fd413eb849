import { h } from "./dom.js";
import { short } from "./format.js";

/** @typedef {import("../protocol.ts").FoundTool} FoundTool */

/**
 * Explains a score: the share of each ranker, and of each word in each field.
 *
 * @param {FoundTool} hit
 */
export function breakdown({ shares, terms, description }) {
  return [
    ...sharesView(shares),
    ...(terms.length > 0 ? [matrix(terms)] : []),
    h("p", { class: "description" }, description || "No description."),
  ];
}

/** @param {FoundTool["shares"]} shares */
function sharesView(shares) {
  const entries = Object.entries(shares).filter(([, share]) => share !== 0);
  if (entries.length === 0) return [];
  const sum = entries.reduce((total, [, share]) => total + Math.abs(share), 0);
  const bar = h(
    "div",
    { class: "shares-bar", "aria-hidden": "true" },
    entries.map(([, share], index) =>
      h("span", {
        style: { "--share": String(Math.abs(share) / sum), "--shade": `${Math.max(25, 100 - index * 28)}%` },
      }),
    ),
  );
  const legend = h(
    "ul",
    { class: "shares" },
    entries.map(([name, share], index) =>
      h(
        "li",
        { class: "share", style: { "--shade": `${Math.max(25, 100 - index * 28)}%` } },
        h("span", {}, name),
        h("b", { class: "number" }, short(share)),
      ),
    ),
  );
  return entries.length > 1 ? [bar, legend] : [legend];
}

/**
 * @param {FoundTool["terms"]} terms
 */
function matrix(terms) {
  const rows = summed(terms, ({ term }) => term);
  const columns = summed(terms, ({ field }) => field);
  const most = Math.max(...terms.map(({ share }) => share));
  const cell = (/** @type {string} */ term, /** @type {string} */ field) => {
    const share = terms
      .filter((each) => each.term === term && each.field === field)
      .reduce((sum, each) => sum + each.share, 0);
    return share === 0
      ? h("td", { class: "none" }, "·")
      : h(
          "td",
          { class: "number", style: { "--heat": `${Math.round((share / most) * 55 + 5)}%` } },
          short(share),
        );
  };
  return h(
    "div",
    { class: "scroll" },
    h(
      "table",
      { class: "matrix" },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          h("th", { scope: "col" }, "word"),
          columns.map(([field]) => h("th", { scope: "col" }, spaced(field))),
          h("th", { scope: "col" }, "sum"),
        ),
      ),
      h(
        "tbody",
        {},
        rows.map(([term, sum]) =>
          h(
            "tr",
            {},
            h("th", { scope: "row" }, term),
            columns.map(([field]) => cell(term, field)),
            h("td", { class: "number total" }, short(sum)),
          ),
        ),
      ),
    ),
  );
}

/**
 * @param {FoundTool["terms"]} terms
 * @param {(term: FoundTool["terms"][number]) => string} key
 * @returns {[string, number][]}
 */
function summed(terms, key) {
  /** @type {Map<string, number>} */
  const sums = new Map();
  for (const term of terms) sums.set(key(term), (sums.get(key(term)) ?? 0) + term.share);
  return [...sums].sort((a, b) => b[1] - a[1]);
}

/**
 * `parameterDescriptions` → `parameter descriptions`.
 *
 * @param {string} name
 */
function spaced(name) {
  return name.replace(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}
