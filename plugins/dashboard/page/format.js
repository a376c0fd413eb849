/**
 * A duration with as many digits as one can tell apart.
 *
 * @param {number | null | undefined} ms
 */
export function duration(ms) {
  if (ms === null || ms === undefined) return "–";
  if (ms < 1) return `${ms.toFixed(2)} ms`;
  if (ms < 1000) return `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
  return ms < 120_000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 60_000)} min`;
}

/** @param {number} value */
export function count(value) {
  return value.toLocaleString("en-US");
}

/** @param {number} share */
export function percent(share) {
  return `${(share * 100).toFixed(share > 0 && share < 0.1 ? 1 : 0)} %`;
}

/** @param {string} iso */
export function clock(iso) {
  return new Date(iso).toLocaleTimeString("en-GB");
}

/**
 * Rates a status or an outcome.
 *
 * @param {string} word
 * @returns {"good" | "bad" | "wait" | "idle"}
 */
export function mood(word) {
  if (word === "ok" || word === "connected" || word === "ready") return "good";
  if (word === "disconnected" || word === "") return "idle";
  if (word.startsWith("needs-") || word.startsWith("CONFIRMATION") || word === "NEEDS_APPROVAL")
    return "wait";
  return "bad";
}
