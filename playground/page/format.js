/**
 * A time that differs by orders of magnitude.
 *
 * @param {number} ms
 */
export function time(ms) {
  if (ms < 0.0995) return `${Math.round(ms * 1000)} µs`;
  if (ms < 9.95) return `${ms.toFixed(ms < 0.995 ? 2 : 1)} ms`;
  return ms < 9950 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

/**
 * Formats a fraction of 1 as retrieval metrics are written.
 *
 * @param {number} share
 */
export function percent(share) {
  return (share * 100).toFixed(1);
}

/**
 * A difference, with its sign; nothing where it would be read as zero.
 *
 * @param {number} value
 * @param {number} [digits]
 */
export function signed(value, digits = 1) {
  const text = Math.abs(value).toFixed(digits);
  return Number(text) === 0 ? "" : `${value > 0 ? "+" : "−"}${text}`;
}

/**
 * `1 tool`, `2,000 tools`.
 *
 * @param {number} count
 * @param {string} noun
 */
export function counted(count, noun) {
  if (count === 1) return `1 ${noun}`;
  return `${count.toLocaleString("en")} ${noun.endsWith("y") ? `${noun.slice(0, -1)}ies` : `${noun}s`}`;
}

/**
 * A number as short as its size allows.
 *
 * @param {number} value
 */
export function short(value) {
  return value === 0
    ? "0"
    : value >= 9.95
      ? value.toFixed(0)
      : value >= 0.995
        ? value.toFixed(1)
        : value.toFixed(2);
}
