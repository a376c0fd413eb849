import { ask } from "./api.js";
import { byId, copy, h } from "./dom.js";
import { settingsPanel } from "./settings.js";

/**
 * @typedef {import("../protocol.ts").Column} Column
 * @typedef {import("../protocol.ts").RankerInfo} RankerInfo
 *
 * @typedef {object} ColumnParts What of a column is filled later.
 * @property {HTMLElement} element
 * @property {HTMLElement} meta
 * @property {HTMLElement} list
 *
 * @typedef {object} ColumnActions
 * @property {(column: Column) => void} change
 * @property {() => void} rebuild
 * @property {(() => void) | undefined} remove
 * @property {(open: boolean) => void} tune
 */

/**
 * One ranker with its settings, beside the others.
 *
 * @param {number} index
 * @param {Column} column
 * @param {readonly RankerInfo[]} rankers
 * @param {boolean} tuning Whether its settings are shown.
 * @param {ColumnActions} actions
 * @returns {ColumnParts}
 */
export function columnView(index, column, rankers, tuning, { change, rebuild, remove, tune }) {
  const ranker = /** @type {RankerInfo} */ (rankers.find(({ name }) => name === column.ranker));
  const select = /** @type {HTMLSelectElement} */ (
    h(
      "select",
      {
        class: "ranker",
        "aria-label": `Ranker ${index + 1}`,
        title: ranker.summary,
        onchange: () => {
          change({ ranker: select.value, settings: {} });
          rebuild();
        },
      },
      rankers.map(({ name }) => h("option", { value: name }, name)),
    )
  );
  select.value = column.ranker;
  const meta = h("span", { class: "meta number" });
  const list = h("ol", { class: "hits", "aria-label": `Found by ranker ${index + 1}, ${column.ranker}` });
  const panel = settingsPanel(index, column, ranker, change, rebuild);
  panel.hidden = !tuning;
  const toggle = h(
    "button",
    {
      class: "quiet tune",
      "aria-expanded": tuning,
      "aria-controls": panel.id,
      onclick: () => {
        panel.hidden = !panel.hidden;
        toggle.setAttribute("aria-expanded", String(!panel.hidden));
        tune(!panel.hidden);
      },
    },
    "Tune",
  );
  const element = h(
    "section",
    { class: "card column", "data-series": index + 1, "aria-label": `Ranker ${index + 1}: ${column.ranker}` },
    h(
      "header",
      { class: "column-head" },
      h("span", { class: "dot", "aria-hidden": "true" }),
      select,
      meta,
      h(
        "span",
        { class: "column-tools" },
        ranker.settings.length > 0 && toggle,
        h(
          "button",
          { class: "quiet", title: "As a config to paste", onclick: () => showSnippet(column.ranker, panel) },
          "Config",
        ),
        remove &&
          h(
            "button",
            { class: "icon", "aria-label": `Remove ranker ${index + 1}`, title: "Remove", onclick: remove },
            "×",
          ),
      ),
    ),
    panel,
    list,
  );
  return { element, meta, list };
}

/**
 * @param {string} ranker
 * @param {HTMLElement} panel
 */
async function showSnippet(ranker, panel) {
  const { settings } = /** @type {HTMLElement & { settings: Record<string, number> }} */ (panel);
  const { text } = await ask("/api/snippet", { ranker, settings });
  byId("snippet-text").textContent = text;
  byId("snippet-copy").onclick = () => copy(text, "The config was copied.");
  /** @type {HTMLDialogElement} */ (byId("snippet")).showModal();
}
