import { runEvaluation } from "./api.js";
import { drawChart } from "./charts.js";
import { byId, fillSelect, h, toast } from "./dom.js";
import { counted } from "./format.js";
import { changes, lossRows, tally } from "./losses.js";
import { metricRows } from "./metrics.js";
import { curves, histograms } from "./plots.js";

/**
 * @typedef {import("./state.js").Store} Store
 * @typedef {import("../protocol.ts").Evaluation} Evaluation
 * @typedef {import("../protocol.ts").Column} Column
 * @typedef {import("../protocol.ts").ColumnResult} ColumnResult
 */

/**
 * A labelled set, and how each ranker does on it.
 *
 * @param {Store} store
 */
export function evaluateView(store) {
  /** @type {Evaluation | undefined} */
  let run;
  /** @type {Evaluation | undefined} */
  let baseline;
  /** @type {AbortController | undefined} */
  let running;
  const now = /** @type {HTMLSelectElement} */ (byId("now"));
  const before = /** @type {HTMLSelectElement} */ (byId("before"));
  const bar = /** @type {HTMLProgressElement} */ (byId("progress-bar"));

  async function start() {
    const { catalog, set, columns } = store.state;
    if (running || !catalog || !set) return;
    running = new AbortController();
    busy(true);
    byId("run-note").textContent = "";
    try {
      run = await runEvaluation({ catalog, set, columns }, tellProgress, running.signal);
      show();
    } catch (thrown) {
      if (running.signal.aborted) byId("run-note").textContent = "Cancelled.";
      else toast(/** @type {Error} */ (thrown).message, "error");
    } finally {
      running = undefined;
      busy(false);
    }
  }

  /** Which rankers will run, and how many of their settings were changed. */
  function showLineup() {
    byId("lineup").replaceChildren(
      ...store.state.columns.map(({ ranker, settings }, index) => {
        const count = Object.keys(settings).length;
        const tuned = count > 0 ? `, ${count} changed` : "";
        return h(
          "button",
          {
            class: "quiet",
            "data-series": index + 1,
            title: "Change this",
            onclick: () => store.set({ view: "search" }),
          },
          h("span", { class: "dot", "aria-hidden": "true" }),
          `${ranker}${tuned}`,
        );
      }),
    );
  }

  /** @param {import("../protocol.ts").Progress} progress */
  function tellProgress({ column, ranker, done, total }) {
    const { columns } = store.state;
    bar.value = (column + done / Math.max(1, total)) / columns.length;
    byId("progress-text").textContent =
      `${ranker} ${done.toLocaleString("en")} of ${total.toLocaleString("en")}`;
  }

  /** @param {boolean} is */
  function busy(is) {
    byId("progress").hidden = !is;
    byId("start").hidden = is;
    byId("lineup").hidden = is;
    bar.value = 0;
    byId("progress-text").textContent = "";
    // The element that had the focus is gone.
    if (document.activeElement === document.body) byId(is ? "cancel" : "start").focus();
  }

  function show() {
    if (!run) return;
    const { columns } = run;
    const names = listNames(columns);
    const pinned = baseline ? pairColumns(columns, baseline.columns) : [];
    byId("report").hidden = false;
    byId("no-report").hidden = true;
    byId("metrics").replaceChildren(...metricRows(columns, pinned, names));
    const drawnBefore = run === baseline ? [] : pinned;
    drawChart(byId("chart-recall"), curves("recall", columns, drawnBefore, names));
    drawChart(byId("chart-ndcg"), curves("ndcg", columns, drawnBefore, names));
    drawChart(byId("chart-latency"), histograms("latency", columns, drawnBefore, names));
    drawChart(byId("chart-tokens"), histograms("tokens", columns, drawnBefore, names));
    byId("pinned").textContent = baseline
      ? run === baseline
        ? "This run is the baseline."
        : "Differences are to the baseline."
      : "";
    byId("unpin").hidden = !baseline;
    byId("pin").hidden = run === baseline;
    const note = [counted(run.queries.length, "query")];
    if (run.strangers > 0)
      note.push(`${counted(run.strangers, "query")} of them want tools that this catalog does not have`);
    byId("run-note").textContent = `${note.join("; ")}.`;
    fillChoices(names);
    showLosses();
  }

  /** @param {readonly string[]} names */
  function fillChoices(names) {
    const chosen = { now: now.value, before: before.value };
    const own = names.map((label, at) => ({ value: `now:${at}`, label }));
    const pinned = baseline
      ? listNames(baseline.columns).map((label, at) => ({
          value: `before:${at}`,
          label: `baseline: ${label}`,
        }))
      : [];
    const all = [...pinned, ...own];
    const kept = (
      /** @type {typeof own} */ options,
      /** @type {string} */ value,
      /** @type {string} */ other,
    ) => (options.some((option) => option.value === value) ? value : other);
    fillSelect(now, own, kept(own, chosen.now, "now:0"));
    // A baseline is what one means to compare with.
    const usual =
      pinned.length > 0
        ? `before:${Math.min(Number(now.value.slice(4)), pinned.length - 1)}`
        : own.length > 1
          ? "now:1"
          : "now:0";
    fillSelect(
      before,
      all,
      chosen.before.startsWith("before:") || pinned.length === 0 ? kept(all, chosen.before, usual) : usual,
    );
  }

  function showLosses() {
    if (!run) return;
    const [kind, at] = before.value.split(":");
    const was = kind === "before" ? baseline : run;
    if (!was) return;
    const all = changes(was, Number(at), run, Number(now.value.slice(4)));
    byId("tally").textContent = tally(all);
    const search = (/** @type {string} */ query) => store.set({ query, view: "search" });
    const fill = (/** @type {HTMLElement[]} */ rows) => byId("losses").replaceChildren(...rows);
    fill(lossRows(all, search, () => fill(lossRows(all, search, undefined))));
  }

  function pin() {
    if (!run) return;
    baseline = run;
    show();
    toast("Pinned. Change something and run again.");
  }

  byId("start").addEventListener("click", start);
  byId("cancel").addEventListener("click", () => running?.abort());
  byId("pin").addEventListener("click", pin);
  byId("unpin").addEventListener("click", () => {
    baseline = undefined;
    show();
  });
  store.listen(showLineup);
  showLineup();
  now.addEventListener("change", showLosses);
  before.addEventListener("change", showLosses);
  return { start, pin, cancel: () => running?.abort() };
}

/**
 * Rankers by name; those that share one are told apart.
 *
 * @param {readonly ColumnResult[]} columns
 */
function listNames(columns) {
  const names = columns.map(({ column }) => column.ranker);
  return names.map((name, at) => {
    if (names.filter((each) => each === name).length === 1) return name;
    const settings = Object.entries(columns[at]?.column.settings ?? {});
    const told = settings.slice(0, 2).map(([path, value]) => `${path.split(".").at(-1)} ${value}`);
    return `${name} (${told.length > 0 ? told.join(", ") : "defaults"}${settings.length > 2 ? ", …" : ""})`;
  });
}

/**
 * To every ranker of now the one it was: at its place, or of its name.
 *
 * @param {readonly ColumnResult[]} now
 * @param {readonly ColumnResult[]} before
 */
function pairColumns(now, before) {
  return now.map(({ column }, at) =>
    before[at]?.column.ranker === column.ranker
      ? before[at]
      : before.find((each) => each.column.ranker === column.ranker),
  );
}
