import { byId, h } from "./dom.js";
import { clock, count, duration, mood, percent } from "./format.js";

/**
 * @typedef {import("../overview.ts").Overview} Overview
 * @typedef {import("../call-history.ts").SeenCall} SeenCall
 * @typedef {import("../overview.ts").PendingRow} Pending
 */

/** @type {Map<string, string>} */
const shown = new Map();

/**
 * Replaces content only if it has changed, so that the user keeps focus and selection.
 *
 * @param {string} id
 * @param {unknown} data
 * @param {() => Node[]} make
 */
function show(id, data, make) {
  const text = JSON.stringify(data);
  if (shown.get(id) === text) return;
  shown.set(id, text);
  byId(id).replaceChildren(...make());
}

/** @param {string} word */
function badge(word) {
  return h("span", { class: "badge", "data-mood": mood(word) }, word.replaceAll("-", " "));
}

/**
 * @param {number} columns
 * @param {string} text
 */
function nothing(columns, text) {
  return h("tr", { class: "none" }, h("td", { colspan: columns }, text));
}

/** @param {Overview} overview */
export function showFigures({ servers, serverCount, tools, tokens, series, live, load }) {
  const sum = (/** @type {readonly number[]} */ all) => all.reduce((total, one) => total + one, 0);
  const [calls, errors] = [sum(series.calls), sum(series.errors)];
  const up = servers.filter(({ status }) => status === "connected" || status === "ready").length;
  const wrong = servers.filter(({ status }) => status === "error").length;
  const last = series.p95.findLast((value) => value !== null);
  const share = tokens.all > 0 ? tokens.saved / tokens.all : 0;
  /** @type {readonly (readonly [string, string, string])[]} */
  const figures = [
    ["Servers", count(serverCount), wrong > 0 ? `${up} up, ${wrong} failing` : `${up} up`],
    ["Tools", count(tools), "in the catalog"],
    [
      "Under way",
      count(live.filter(({ parent }) => parent === undefined).length),
      load ? `${load.waiting} waiting, ${load.refused} refused` : "calls",
    ],
    ["Calls", count(calls), "in half an hour"],
    ["Failed", percent(calls > 0 ? errors / calls : 0), `${count(errors)} calls`],
    ["Latency", duration(last), "95 % within, lately"],
    ["Tokens saved", count(tokens.saved), `${percent(share)} of ${count(tokens.all)}`],
  ];
  show("figures", figures, () =>
    figures.map(([name, value, more]) =>
      h("div", {}, h("dt", {}, name), h("dd", { class: "number" }, value, h("small", {}, more))),
    ),
  );
}

/** @param {Overview} overview */
export function showServers({ servers, serverCount }) {
  byId("servers-count").textContent = count(serverCount);
  show("servers", servers, () => {
    if (servers.length === 0) return [nothing(3, "There are no servers.")];
    return servers.map(({ name, status, reason, title, enabled, tools }) =>
      h(
        "tr",
        {},
        h("th", { scope: "row" }, name, title !== "" && h("small", {}, title)),
        h("td", {}, badge(status), reason !== "" && h("small", { class: "reason" }, reason)),
        h("td", { class: "right number" }, enabled === tools ? count(tools) : `${enabled} of ${tools}`),
      ),
    );
  });
}

/** @param {Overview} overview */
export function showLive({ live }) {
  const outer = live.filter(({ parent }) => parent === undefined);
  const ordered = outer.flatMap((call) => [call, ...live.filter(({ parent }) => parent === call.id)]);
  byId("live-count").textContent = count(outer.length);
  show("live", ordered, () => {
    if (ordered.length === 0) return [nothing(4, "Nothing is under way.")];
    return ordered.map(({ tool, actor, stage, ms, parent }) =>
      h(
        "tr",
        { class: parent !== undefined && "inner" },
        h("th", { scope: "row" }, tool),
        h("td", {}, actor),
        h("td", {}, stage),
        h("td", { class: "right number" }, duration(ms)),
      ),
    );
  });
}

/**
 * @param {readonly SeenCall[]} calls Those that are shown, newest first.
 * @param {number} all
 */
export function showCalls(calls, all) {
  byId("calls-count").textContent =
    calls.length === all ? count(all) : `${count(calls.length)} of ${count(all)}`;
  show("calls", [calls.map(({ seq }) => seq), all === 0], () => {
    if (calls.length === 0)
      return [nothing(6, all === 0 ? "There were no calls yet." : "No call is like that.")];
    return calls.map(({ time, tool, outcome, via, actor, stage, ms, parent, id }) =>
      h(
        "tr",
        { class: parent !== undefined && "inner", title: id },
        h("td", { class: "number" }, h("time", { datetime: time }, clock(time))),
        h("th", { scope: "row" }, tool),
        h("td", {}, badge(outcome), via !== undefined && h("small", {}, `via ${via}`)),
        h("td", {}, actor),
        h("td", {}, stage),
        h("td", { class: "right number" }, duration(ms)),
      ),
    );
  });
}

/**
 * @param {readonly Pending[]} pending
 * @param {(what: Pending, grant: boolean) => void} onDecision
 */
export function showPending(pending, onDecision) {
  byId("pending-card").hidden = pending.length === 0;
  byId("pending-count").textContent = count(pending.length);
  show("pending", pending, () =>
    pending.map((what) => {
      const act = (/** @type {string} */ text, /** @type {boolean} */ grant, /** @type {string} */ kind) =>
        h(
          "button",
          {
            type: "button",
            class: kind,
            "aria-label": `${text} the ${what.kind} ${what.id}`,
            onclick: () => onDecision(what, grant),
          },
          text,
        );
      return h(
        "li",
        { "data-name": what.id },
        h(
          "div",
          {},
          h("b", {}, what.id),
          h(
            "span",
            { class: "badge", "data-mood": "wait" },
            what.status === "changed" ? `${what.kind}, changed` : what.kind,
          ),
          h("p", { class: "note" }, what.summary),
        ),
        h("div", { class: "acts" }, act("Grant", true, "strong"), act("Refuse", false, "quiet")),
      );
    }),
  );
}
