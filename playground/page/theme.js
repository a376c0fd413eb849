import { byId } from "./dom.js";

const KEY = "toolpipe-theme";

/**
 * Follows the system until the user chooses a theme, which is stored.
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
  const stored = localStorage.getItem(KEY);
  if (stored === "dark" || stored === "light") root.dataset["theme"] = stored;
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
