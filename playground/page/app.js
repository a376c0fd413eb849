import { ask } from "./api.js";
import { redrawCharts } from "./charts.js";
import { byId, copy, fillSelect, toast } from "./dom.js";
import { evaluateView } from "./evaluate-view.js";
import { fileOpener } from "./files.js";
import { counted } from "./format.js";
import { listenToKeys } from "./keys.js";
import { searchView } from "./search-view.js";
import { createStore, fromHash } from "./state.js";
import { themeSwitch } from "./theme.js";

/** @typedef {import("../protocol.ts").Overview} Overview */

/** @type {Overview} */
const overview = await ask("/api/overview");
const catalogs = [...overview.catalogs];
const sets = [...overview.sets];
const store = createStore(fromHash(location.hash, overview));
const catalog = /** @type {HTMLSelectElement} */ (byId("catalog"));
const set = /** @type {HTMLSelectElement} */ (byId("set"));

const search = searchView(store, overview);
const evaluation = evaluateView(store);
const theme = themeSwitch(redrawCharts);
const files = fileOpener({
  addCatalog(info) {
    replaceById(catalogs, info);
    store.set({ catalog: info.id });
  },
  addSet(info) {
    replaceById(sets, info);
    store.set({ set: info.id });
  },
});

/**
 * @template {{ readonly id: string }} T
 * @param {T[]} all
 * @param {T} one
 */
function replaceById(all, one) {
  const at = all.findIndex(({ id }) => id === one.id);
  if (at >= 0) all[at] = one;
  else all.push(one);
}

function showChoices() {
  const { state } = store;
  fillSelect(
    catalog,
    catalogs.map(({ id, label }) => ({ value: id, label })),
    state.catalog,
  );
  fillSelect(
    set,
    sets.map(({ id, label, queries }) => ({
      value: id,
      label: `${label} (${queries.toLocaleString("en")})`,
    })),
    state.set,
  );
  const info = catalogs.find(({ id }) => id === state.catalog);
  byId("size").textContent =
    info?.tools === undefined
      ? ""
      : `${counted(info.tools, "tool")}, ${counted(info.servers ?? 0, "server")}`;
  byId("renew").hidden = state.catalog !== "live";
}

/** @param {"/api/open" | "/api/renew"} path */
async function openCatalog(path) {
  const { catalog: id } = store.state;
  if (!id) return toast("There is no catalog. Open a file of tools.");
  byId("size").textContent = path === "/api/open" ? "…" : "asking servers …";
  try {
    replaceById(catalogs, await ask(path, { catalog: id }));
    if (path === "/api/renew") search.rank();
  } catch (thrown) {
    toast(/** @type {Error} */ (thrown).message, "error");
  }
  showChoices();
}

function showView() {
  const { view } = store.state;
  for (const name of /** @type {const} */ (["search", "evaluate"])) {
    byId(name).hidden = name !== view;
    const tab = byId(`tab-${name}`);
    tab.setAttribute("aria-selected", String(name === view));
    tab.tabIndex = name === view ? 0 : -1;
  }
}

catalog.addEventListener("change", () => {
  const own = sets.find((each) => each.catalog === catalog.value);
  store.set({ catalog: catalog.value, ...(own && { set: own.id }) });
});
set.addEventListener("change", () => store.set({ set: set.value }));
byId("renew").addEventListener("click", () => void openCatalog("/api/renew"));
byId("file").addEventListener("click", files.choose);
byId("share").addEventListener("click", () => {
  const isLocal = [store.state.catalog, store.state.set].some((id) => id.startsWith("file:"));
  void copy(
    location.href,
    isLocal ? "The link was copied. It works only where the file is loaded too." : "The link was copied.",
  );
});
byId("theme").addEventListener("click", theme.toggle);
byId("keys").addEventListener("click", () => /** @type {HTMLDialogElement} */ (byId("key-list")).showModal());
for (const name of /** @type {const} */ (["search", "evaluate"])) {
  byId(`tab-${name}`).addEventListener("click", () => store.set({ view: name }));
  byId(`tab-${name}`).addEventListener("keydown", (event) => {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    const other = name === "search" ? "evaluate" : "search";
    store.set({ view: other });
    byId(`tab-${other}`).focus();
  });
}
for (const button of document.querySelectorAll("[data-close]")) {
  button.addEventListener("click", () => button.closest("dialog")?.close());
}
listenToKeys({
  "/": () => {
    store.set({ view: "search" });
    byId("query").focus();
  },
  s: () => store.set({ view: "search" }),
  e: () => store.set({ view: "evaluate" }),
  r: () => {
    store.set({ view: "evaluate" });
    void evaluation.start();
  },
  p: evaluation.pin,
  n: search.next,
  o: files.choose,
  d: theme.toggle,
  "?": () => /** @type {HTMLDialogElement} */ (byId("key-list")).showModal(),
  Escape: evaluation.cancel,
});
store.listen((changed) => {
  showChoices();
  showView();
  if (changed.has("catalog")) void openCatalog("/api/open");
});
// A link that is opened in this very tab changes nothing but the hash.
addEventListener("hashchange", () => {
  store.set(fromHash(location.hash, { ...overview, catalogs, sets }));
  search.build();
});
showChoices();
showView();
await openCatalog("/api/open");
if (store.state.view === "search") byId("query").focus();
