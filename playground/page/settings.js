import { h } from "./dom.js";
import { short } from "./format.js";

/**
 * @typedef {import("../protocol.ts").Column} Column
 * @typedef {import("../protocol.ts").RankerInfo} RankerInfo
 * @typedef {import("../protocol.ts").Setting} Setting
 */

/**
 * A slider for every setting of a ranker.
 *
 * @param {number} index
 * @param {Column} column
 * @param {RankerInfo} ranker
 * @param {(column: Column) => void} change
 * @param {() => void} rebuild
 */
export function settingsPanel(index, column, ranker, change, rebuild) {
  /** @type {Record<string, number>} */
  const settings = { ...column.settings };
  const groups = Map.groupBy(ranker.settings, ({ group }) => group);
  const reset = h(
    "button",
    {
      class: "quiet reset",
      onclick: () => {
        change({ ranker: column.ranker, settings: {} });
        rebuild();
      },
    },
    "Reset",
  );
  const refresh = () => {
    reset.hidden = Object.keys(settings).length === 0;
  };
  const set = (/** @type {Setting} */ setting, /** @type {number} */ value) => {
    if (value === setting.default) delete settings[setting.path];
    else settings[setting.path] = value;
    refresh();
    change({ ranker: column.ranker, settings: { ...settings } });
  };
  refresh();
  const panel = h(
    "div",
    { class: "settings", id: `settings-${index}` },
    [...groups].map(([group, own]) =>
      h(
        "fieldset",
        {},
        h("legend", {}, group),
        own.map((setting) => slider(setting, settings[setting.path], set)),
      ),
    ),
    reset,
  );
  Object.assign(panel, { settings });
  return panel;
}

/**
 * @param {Setting} setting
 * @param {number | undefined} chosen
 * @param {(setting: Setting, value: number) => void} set
 */
function slider(setting, chosen, set) {
  const value = chosen ?? setting.default;
  const shown = h("output", { class: "number" }, short(value));
  const input = /** @type {HTMLInputElement} */ (
    h("input", {
      type: "range",
      min: setting.min,
      max: setting.max,
      step: setting.step,
      "data-path": setting.path,
      oninput: () => {
        show();
        set(setting, Number(input.value));
      },
      ondblclick: () => {
        input.value = String(setting.default);
        show();
        set(setting, setting.default);
      },
    })
  );
  input.value = String(value);
  const row = h(
    "label",
    { class: "slider", title: `${setting.path}, ${short(setting.default)} by default` },
    h("span", {}, setting.label),
    input,
    shown,
  );
  const show = () => {
    shown.textContent = short(Number(input.value));
    row.classList.toggle("changed", Number(input.value) !== setting.default);
    input.style.setProperty(
      "--at",
      `${((Number(input.value) - setting.min) / (setting.max - setting.min)) * 100}%`,
    );
  };
  show();
  return row;
}
