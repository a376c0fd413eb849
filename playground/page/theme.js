import { byId } from "./dom.js";

const KEY = "toolpipe-theme";

/**
 * Follows the system until somebody chooses, and remembers what was chosen.
 *
 * @param {() => void} changed
 */
export function themeSwitch(changed) {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  const isDark = () => (root.dataset["theme"] ? root.dataset["theme"] === "dark" : system.matches);
  const show = () => {
    byId("theme").textContent = isDark() ? "☀" : "☾";
    changed();
  };
  const remembered = localStorage.getItem(KEY);
  if (remembered === "dark" || remembered === "light") root.dataset["theme"] = remembered;
  system.addEventListener("change", show);
  show();
  return {
    toggle() {
      root.dataset["theme"] = isDark() ? "light" : "dark";
      localStorage.setItem(KEY, root.dataset["theme"]);
      show();
    },
  };
}
