import { h } from "./dom.js";

/**
 * Creates the common options of all charts, in the colors of their container.
 *
 * @param {HTMLElement} place
 * @param {number} height
 * @param {(at: number | null | undefined) => void} onPoint
 */
export function chartLook(place, height, onPoint) {
  return {
    axis: {
      stroke: color(place, "--muted"),
      font: "11px system-ui, sans-serif",
      grid: { stroke: color(place, "--line"), width: 1 },
      ticks: { show: false },
    },
    frame: {
      width: Math.max(place.clientWidth, 200),
      height,
      legend: { show: false },
      hooks: { setCursor: [(/** @type {import("./uplot.js").default} */ { cursor }) => onPoint(cursor.idx)] },
      cursor: { y: false, points: { size: 6 }, drag: { x: false, y: false } },
    },
  };
}

/**
 * A color of the style sheet as a canvas understands it.
 *
 * @param {HTMLElement} place
 * @param {string} name
 */
export function color(place, name) {
  const probe = h("span");
  probe.style.color = `var(${name})`;
  place.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
