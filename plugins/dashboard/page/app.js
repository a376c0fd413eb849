import { decide, forgetToken, isSignedIn, keepToken, look, SignInNeeded } from "./api.js";
import { byId, fillSelect, toast } from "./dom.js";
import { drawSeries, redrawCharts } from "./plots.js";
import { themeSwitch } from "./theme.js";
import { showCalls, showFigures, showLive, showPending, showServers } from "./views.js";

/**
 * @typedef {import("../overview.ts").Overview} Overview
 * @typedef {import("../call-history.ts").SeenCall} SeenCall
 * @typedef {import("../overview.ts").PendingRow} Pending
 */

const EVERY_MS = 1000;
/** A hidden tab requests data less often. */
const HIDDEN_MS = 10_000;
const KEEP = 1000;
const SHOWN = 300;

/** @type {SeenCall[]} Newest first. */
let calls = [];
let since = 0;
let boot = "";
let token = "";
let isPaused = false;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;

const text = /** @type {HTMLInputElement} */ (byId("filter-text"));
const server = /** @type {HTMLSelectElement} */ (byId("filter-server"));
const outcome = /** @type {HTMLSelectElement} */ (byId("filter-outcome"));

/**
 * @param {string} said
 * @param {"good" | "bad" | "waiting"} kind
 */
function standing(said, kind) {
  const place = byId("standing");
  if (place.textContent !== said) place.textContent = said;
  place.dataset["kind"] = kind;
}

async function update() {
  clearTimeout(timer);
  try {
    const overview = await look(since);
    if (overview.boot !== boot && boot !== "") {
      // Another process counts from the beginning.
      [calls, since, boot] = [[], 0, overview.boot];
      return void update();
    }
    boot = overview.boot;
    take(overview);
    standing(isPaused ? "Paused" : "Live", "good");
  } catch (thrown) {
    if (thrown instanceof SignInNeeded) return askForToken(thrown.message);
    standing(thrown instanceof Error ? thrown.message : "Something is wrong.", "bad");
  }
  if (!isPaused) timer = setTimeout(update, document.hidden ? HIDDEN_MS : EVERY_MS);
}

/** @param {Overview} overview */
function take(overview) {
  byId("sign-in").hidden = true;
  byId("content").hidden = false;
  byId("leave").hidden = !isSignedIn();
  byId("about").textContent = `${overview.actor} · ${overview.version}`;
  token = overview.token;
  if (overview.calls.length > 0) {
    calls = [...overview.calls.toReversed(), ...calls].slice(0, KEEP);
    since = calls[0]?.seq ?? since;
  }
  showPending(overview.pending, onDecision);
  showFigures(overview);
  drawSeries(overview.series);
  showServers(overview);
  showLive(overview);
  filterCalls();
}

function filterCalls() {
  const names = [...new Set(calls.map((call) => call.server))].filter((name) => name !== "").sort();
  const outcomes = [...new Set(calls.map((call) => call.outcome))].sort();
  choices(server, names);
  choices(outcome, outcomes);
  const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = calls.filter((call) => {
    if (server.value !== "" && call.server !== server.value) return false;
    if (outcome.value !== "" && call.outcome !== outcome.value) return false;
    const all = `${call.tool} ${call.actor} ${call.id} ${call.parent ?? ""} ${call.stage}`.toLowerCase();
    return words.every((word) => all.includes(word));
  });
  showCalls(fits.slice(0, SHOWN), calls.length);
}

/**
 * @param {HTMLSelectElement} select
 * @param {readonly string[]} values
 */
function choices(select, values) {
  const chosen = select.value;
  const all = chosen === "" || values.includes(chosen) ? values : [...values, chosen];
  const options = [{ value: "", label: "all" }, ...all.map((value) => ({ value, label: value }))];
  if (select.options.length !== options.length) fillSelect(select, options, chosen);
}

/**
 * @param {Pending} what
 * @param {boolean} grant
 */
async function onDecision(what, grant) {
  try {
    const { pending } = await decide(what, grant, token);
    showPending(pending, onDecision);
    toast(`${what.id} was ${grant ? "granted" : "refused"}.`);
    // The focus moves to the next item for users of the keyboard.
    const next = document.querySelector("#pending button");
    if (next instanceof HTMLElement) next.focus();
    else byId("pause").focus();
  } catch (thrown) {
    toast(thrown instanceof Error ? thrown.message : "This could not be decided.", "error");
  }
}

/** @param {string} why */
function askForToken(why) {
  forgetToken();
  standing("Signed out", "waiting");
  byId("content").hidden = true;
  byId("leave").hidden = true;
  byId("sign-in").hidden = false;
  byId("sign-in-why").textContent = why;
  byId("key").focus();
}

byId("sign-in").addEventListener("submit", (event) => {
  event.preventDefault();
  const key = /** @type {HTMLInputElement} */ (byId("key"));
  if (key.value.trim() === "") return;
  keepToken(key.value.trim());
  key.value = "";
  void update();
});
byId("leave").addEventListener("click", () => {
  clearTimeout(timer);
  [calls, since, boot] = [[], 0, ""];
  askForToken("");
});
byId("pause").addEventListener("click", () => {
  isPaused = !isPaused;
  byId("pause").setAttribute("aria-pressed", String(isPaused));
  byId("pause").textContent = isPaused ? "Go on" : "Pause";
  void update();
});
for (const filter of [text, server, outcome]) filter.addEventListener("input", filterCalls);
byId("filter-reset").addEventListener("click", () => {
  for (const filter of [text, server, outcome]) filter.value = "";
  filterCalls();
});
document.addEventListener("visibilitychange", () => {
  if (!document.hidden && !isPaused) void update();
});
const theme = themeSwitch(redrawCharts);
byId("theme").addEventListener("click", theme.toggle);
void update();
