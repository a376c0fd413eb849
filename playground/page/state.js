/**
 * @typedef {import("../protocol.ts").Column} Column
 * @typedef {import("../protocol.ts").Overview} Overview
 *
 * @typedef {object} State What a link to the playground holds.
 * @property {"search" | "evaluate"} view
 * @property {string} catalog
 * @property {string} set
 * @property {string} query
 * @property {readonly Column[]} columns
 */

/** More do not fit side by side; the server says the same. */
export const MAX_COLUMNS = 4;

/**
 * The state as it stands after the `#` of the address. Every part of it can be read, and changed by hand:
 * `r=keyword*weights.name*4` is the ranker `keyword` with one setting.
 *
 * @param {State} state
 */
export function toHash({ view, catalog, set, query, columns }) {
  const params = new URLSearchParams();
  if (view !== "search") params.set("view", view);
  if (catalog) params.set("catalog", catalog);
  if (set) params.set("set", set);
  if (query) params.set("q", query);
  for (const { ranker, settings } of columns) {
    params.append("r", [ranker, ...Object.entries(settings).flat()].join("*"));
  }
  return `#${params}`;
}

/**
 * The state of an address. What it names that is not here is left out, so that an old link still opens.
 *
 * @param {string} hash
 * @param {Overview} overview
 * @returns {State}
 */
export function fromHash(hash, { rankers, catalogs, sets }) {
  const params = new URLSearchParams(hash.replace(/^#/, ""));
  const known = (/** @type {readonly { readonly id: string }[]} */ all, /** @type {string} */ name) =>
    all.find(({ id }) => id === params.get(name))?.id ?? all[0]?.id ?? "";
  const columns = params.getAll("r").flatMap((text) => parseColumn(text, rankers));
  return {
    view: params.get("view") === "evaluate" ? "evaluate" : "search",
    catalog: known(catalogs, "catalog"),
    set: known(sets, "set"),
    query: params.get("q") ?? "",
    columns: columns.length > 0 ? columns.slice(0, MAX_COLUMNS) : firstColumns(rankers),
  };
}

/**
 * @param {string} text
 * @param {Overview["rankers"]} rankers
 * @returns {Column[]}
 */
function parseColumn(text, rankers) {
  const [name, ...rest] = text.split("*");
  const ranker = rankers.find((each) => each.name === name);
  if (!ranker) return [];
  /** @type {Record<string, number>} */
  const settings = {};
  for (let at = 0; at + 1 < rest.length; at += 2) {
    const setting = ranker.settings.find(({ path }) => path === rest[at]);
    const value = Number(rest[at + 1]);
    if (setting && value >= setting.min && value <= setting.max) settings[setting.path] = value;
  }
  return [{ ranker: ranker.name, settings }];
}

/**
 * Returns the default comparison.
 *
 * @param {Overview["rankers"]} rankers
 * @returns {Column[]}
 */
function firstColumns(rankers) {
  return rankers.slice(0, 3).map(({ name }) => ({ ranker: name, settings: {} }));
}

/**
 * @typedef {object} Store
 * @property {State} state
 * @property {(change: Partial<State>) => void} set
 * @property {(listener: (changed: ReadonlySet<string>) => void) => void} listen
 */

/**
 * Keeps the state, and keeps the address in step with it.
 *
 * @param {State} first
 * @returns {Store}
 */
export function createStore(first) {
  /** @type {((changed: ReadonlySet<string>) => void)[]} */
  const listeners = [];
  const store = {
    state: first,
    set(/** @type {Partial<State>} */ change) {
      store.state = { ...store.state, ...change };
      history.replaceState(null, "", toHash(store.state));
      const changed = new Set(Object.keys(change));
      for (const listener of listeners) listener(changed);
    },
    listen(/** @type {(changed: ReadonlySet<string>) => void} */ listener) {
      listeners.push(listener);
    },
  };
  return store;
}
