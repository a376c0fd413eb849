import { type FSWatcher, watch } from "node:fs";
import { basename, dirname } from "node:path";

/** Editors write a file in several steps. */
const SETTLE_MS = 100;

/** Calls back when a file has been written. Watches its folder: editors put a new file in the place of the old. */
export function watchFile(file: string, onChange: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let watcher: FSWatcher | undefined;
  try {
    watcher = watch(dirname(file), { persistent: false }, (_event, name) => {
      if (name !== null && name !== basename(file)) return;
      clearTimeout(timer);
      timer = setTimeout(onChange, SETTLE_MS);
    });
    watcher.on("error", () => {});
  } catch {
    // Where files cannot be watched, a reload has to be asked for.
  }
  return () => {
    clearTimeout(timer);
    watcher?.close();
  };
}
