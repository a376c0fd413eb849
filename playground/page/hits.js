import { breakdown } from "./breakdown.js";
import { h } from "./dom.js";

/**
 * @typedef {import("../protocol.ts").ColumnAnswer} ColumnAnswer
 * @typedef {import("../protocol.ts").FoundTool} FoundTool
 *
 * @typedef {object} HitContext
 * @property {number} column
 * @property {ReadonlySet<string>} wanted What the labels say is right.
 * @property {ReadonlyMap<string, number> | undefined} others The places in the first column.
 * @property {Set<string>} open The tools whose breakdown is shown.
 */

/**
 * Renders the results of a ranker, best first.
 *
 * @param {ColumnAnswer} answer
 * @param {HitContext} context
 * @returns {HTMLElement[]}
 */
export function hitRows({ hits, nearest, error }, context) {
  if (error !== undefined) return [h("li", { class: "nothing error" }, error)];
  if (hits.length > 0) return hits.map((hit, index) => hitRow(hit, index, context));
  return [
    h(
      "li",
      { class: "nothing" },
      "Nothing fits.",
      nearest.length > 0 && h("span", { class: "nearest" }, `Closest: ${nearest.slice(0, 3).join(", ")}`),
    ),
  ];
}

/**
 * @param {FoundTool} hit
 * @param {number} index
 * @param {HitContext} context
 */
function hitRow(hit, index, { column, wanted, others, open }) {
  const id = `hit-${column}-${index}`;
  const isWanted = wanted.has(hit.id);
  const body = h("div", { class: "breakdown", id });
  const show = (/** @type {boolean} */ shown) => {
    button.setAttribute("aria-expanded", String(shown));
    body.hidden = !shown;
    // Most are never opened.
    if (shown && body.childElementCount === 0) body.append(...breakdown(hit));
  };
  const button = h(
    "button",
    {
      class: "hit",
      "aria-controls": id,
      "data-tool": hit.id,
      onclick: () => {
        const shown = body.hidden === true;
        if (shown) open.add(hit.id);
        else open.delete(hit.id);
        show(shown);
      },
    },
    h("span", { class: "place number" }, index + 1),
    h(
      "span",
      { class: "what" },
      h(
        "span",
        { class: "name" },
        hit.name,
        isWanted && h("span", { class: "tick", title: "Wanted by the labels" }, "✓"),
      ),
      h("span", { class: "server" }, hit.server),
      h(
        "span",
        { class: "gist" },
        listTerms(hit).map((term) => h("mark", {}, term)),
        hit.description.slice(0, 160),
      ),
    ),
    h("span", { class: "score number" }, hit.relevance.toFixed(2), moved(hit, index, others)),
    h("span", { class: "bar", style: { "--share": String(hit.relevance) }, "aria-hidden": "true" }),
  );
  const row = h("li", { class: isWanted ? "wanted-hit" : "" }, button, body);
  show(open.has(hit.id));
  return row;
}

/**
 * Renders the distance of a tool from its rank in the first column.
 *
 * @param {FoundTool} hit
 * @param {number} index
 * @param {ReadonlyMap<string, number> | undefined} others
 */
function moved({ id }, index, others) {
  if (!others) return undefined;
  const before = others.get(id);
  const by = before === undefined ? 0 : before - index;
  if (before === undefined || by === 0) return undefined;
  return h(
    "span",
    { class: `moved ${by > 0 ? "up" : "down"}`, title: `At ${before + 1} with the first ranker` },
    `${by > 0 ? "↑" : "↓"}${Math.abs(by)}`,
  );
}

/** @param {FoundTool} hit */
function listTerms({ terms }) {
  return [...new Set(terms.map(({ term }) => term))].slice(0, 4);
}
