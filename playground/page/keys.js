/**
 * Listens to single keys, but not while something is written or a dialog is open.
 *
 * @param {Readonly<Record<string, () => void>>} actions
 */
export function listenToKeys(actions) {
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const target = /** @type {HTMLElement} */ (event.target);
    const isWriting = target.matches("input:not([type=range]), textarea");
    if (isWriting) {
      if (event.key === "Escape") target.blur();
      return;
    }
    // In a list of choices, a letter chooses.
    if (target.matches("select")) return;
    const action = Object.hasOwn(actions, event.key) ? actions[event.key] : undefined;
    if (!action) return;
    event.preventDefault();
    action();
  });
}
