import { ask, oneAtATime } from "./api.js";
import { columnView } from "./column.js";
import { byId, h, toast } from "./dom.js";
import { time } from "./format.js";
import { hitRows } from "./hits.js";
import { MAX_COLUMNS } from "./state.js";

/**
 * @typedef {import("./state.js").Store} Store
 * @typedef {import("../protocol.ts").Overview} Overview
 * @typedef {import("../protocol.ts").ColumnAnswer} ColumnAnswer
 * @typedef {import("../protocol.ts").LabelledQuery} LabelledQuery
 */

/**
 * The query, and what each ranker makes of it.
 *
 * @param {Store} store
 * @param {Overview} overview
 */
export function searchView(store, overview) {
  const place = byId("columns");
  const input = /** @type {HTMLInputElement} */ (byId("query"));
  /** @type {import("./column.js").ColumnParts[]} */
  let parts = [];
  /** @type {Set<number>} */
  const tuning = new Set();
  /** @type {Set<string>} */
  const open = new Set();
  /** @type {readonly LabelledQuery[]} */
  let labelled = [];

  const rank = oneAtATime(async () => {
    const { catalog, query, columns } = store.state;
    if (query.trim() === "" || !catalog) return show(undefined);
    place.classList.add("busy");
    try {
      const answer = await ask("/api/rank", { catalog, query, columns });
      if (answer.columns.length === parts.length) show(answer.columns);
    } catch (thrown) {
      toast(/** @type {Error} */ (thrown).message, "error");
    } finally {
      place.classList.remove("busy");
    }
  });

  /** @param {readonly ColumnAnswer[] | undefined} answers */
  function show(answers) {
    const known = labelled.find(({ query }) => query === store.state.query);
    const wanted = new Set(known?.relevant ?? []);
    const first = answers?.[0] && new Map(answers[0].hits.map(({ id }, at) => [id, at]));
    const refocus = focusKeeper(place);
    for (const [column, { meta, list }] of parts.entries()) {
      const answer = answers?.[column];
      meta.textContent = answer && !answer.error ? `${time(answer.ms)} · ${answer.tokens} tokens` : "";
      const others = column > 0 ? first : undefined;
      list.replaceChildren(...(answer ? hitRows(answer, { column, wanted, others, open }) : placeholders()));
    }
    refocus();
    showWanted(known);
    byId("examples").hidden = store.state.query.trim() !== "" || labelled.length === 0;
  }

  /** @param {LabelledQuery | undefined} known */
  function showWanted(known) {
    const line = byId("wanted");
    line.hidden = known === undefined;
    if (!known) return;
    line.replaceChildren(
      ...(known.relevant.length > 0
        ? ["The labels want ", ...known.relevant.flatMap((id, at) => [at > 0 ? ", " : "", h("code", {}, id)])]
        : ["The labels say that no tool does this."]),
    );
  }

  function build() {
    const { columns } = store.state;
    parts = columns.map((column, index) =>
      columnView(index, column, overview.rankers, tuning.has(index), {
        change: (changed) =>
          store.set({ columns: store.state.columns.map((each, at) => (at === index ? changed : each)) }),
        rebuild: build,
        remove:
          columns.length > 1
            ? () => {
                tuning.clear();
                store.set({ columns: store.state.columns.filter((_, at) => at !== index) });
                build();
              }
            : undefined,
        tune: (isOpen) => (isOpen ? tuning.add(index) : tuning.delete(index)),
      }),
    );
    const add = h(
      "button",
      {
        class: "add",
        title: "Compare with one more",
        onclick: () => {
          const last = /** @type {import("./state.js").Column} */ (store.state.columns.at(-1));
          store.set({ columns: [...store.state.columns, last] });
          build();
        },
      },
      "+ Compare",
    );
    place.replaceChildren(
      ...parts.map(({ element }) => element),
      ...(columns.length < MAX_COLUMNS ? [add] : []),
    );
    place.style.setProperty("--columns", String(columns.length));
    rank();
  }

  async function learnLabels() {
    const { set } = store.state;
    labelled = set ? (await ask("/api/queries", { set })).queries : [];
    byId("next").hidden = labelled.length === 0;
    const few = [0.1, 0.4, 0.6].flatMap((share) => labelled[Math.floor(share * labelled.length)] ?? []);
    byId("examples").replaceChildren(
      "Try",
      ...few.map(({ query }) => h("button", { class: "quiet", onclick: () => store.set({ query }) }, query)),
    );
  }

  function next() {
    if (labelled.length === 0) return;
    const at = labelled.findIndex(({ query }) => query === store.state.query);
    store.set({ query: labelled[(at + 1) % labelled.length]?.query ?? "" });
  }

  input.value = store.state.query;
  input.addEventListener("input", () => store.set({ query: input.value }));
  byId("next").addEventListener("click", next);
  moveByKeys(input, place);
  highlightAlike(place);
  store.listen((changed) => {
    if (input.value !== store.state.query) input.value = store.state.query;
    if (changed.has("query")) open.clear();
    if (changed.has("set")) void learnLabels().then(rank);
    else if (["query", "columns", "catalog"].some((part) => changed.has(part))) rank();
  });
  build();
  void learnLabels().then(rank);
  return { build, next, rank };
}

function placeholders() {
  return [h("li", { class: "nothing" }, "Type a query to see what is found.")];
}

/**
 * A result may come while the user is inside the one before it: the focus stays.
 *
 * @param {HTMLElement} place
 * @returns {() => void}
 */
function focusKeeper(place) {
  const focused = document.activeElement?.closest(".hit");
  if (!focused) return () => {};
  const column = focused.closest(".column")?.getAttribute("data-series");
  const row = [...(focused.closest(".hits")?.querySelectorAll(".hit") ?? [])].indexOf(focused);
  return () => {
    const hits = /** @type {HTMLElement[]} */ ([...place.querySelectorAll(`[data-series="${column}"] .hit`)]);
    hits[Math.min(row, hits.length - 1)]?.focus();
  };
}

/**
 * Arrows move among what was found, up out of it back to the query.
 *
 * @param {HTMLInputElement} input
 * @param {HTMLElement} place
 */
function moveByKeys(input, place) {
  const lists = () =>
    [...place.querySelectorAll(".hits")].map(
      (list) => /** @type {HTMLElement[]} */ ([...list.querySelectorAll(".hit")]),
    );
  input.addEventListener("keydown", (event) => {
    const first = lists().find((list) => list.length > 0)?.[0];
    if (event.key !== "ArrowDown" || !first) return;
    event.preventDefault();
    first.focus();
  });
  place.addEventListener("keydown", (event) => {
    const all = lists();
    const column = all.findIndex((list) => list.includes(/** @type {HTMLElement} */ (event.target)));
    if (column < 0) return;
    const row = /** @type {HTMLElement[]} */ (all[column]).indexOf(/** @type {HTMLElement} */ (event.target));
    const right = Number(event.key === "ArrowRight") - Number(event.key === "ArrowLeft");
    const down = Number(event.key === "ArrowDown") - Number(event.key === "ArrowUp");
    if (right === 0 && down === 0) return;
    event.preventDefault();
    if (row + down < 0) return input.focus();
    const list = all[column + right];
    list?.[Math.min(row + down, list.length - 1)]?.focus();
  });
}

/**
 * The tool that is pointed at is shown in every column.
 *
 * @param {HTMLElement} place
 */
function highlightAlike(place) {
  const mark = (/** @type {Event} */ event) => {
    const target =
      event.type === "mouseleave" || event.type === "focusout"
        ? null
        : /** @type {Element} */ (event.target).closest(".hit");
    const id = target?.getAttribute("data-tool");
    for (const hit of place.querySelectorAll(".hit"))
      hit.classList.toggle("alike", id !== undefined && id !== null && hit.getAttribute("data-tool") === id);
  };
  for (const name of ["mouseover", "mouseleave", "focusin", "focusout"]) place.addEventListener(name, mark);
}
