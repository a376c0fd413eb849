import { shownLine } from "./_shown.ts";

const WIDTH = 20;
/** Fits beside the bar on a line of the narrowest terminal: one that wraps could not be taken away again. */
const LONGEST_NAME = 30;

/** Shows a person at a terminal how far something has come. Pipes see nothing of it. */
export interface Progress {
  show(done: number, total: number, what: string): void;
  /** Takes it away. */
  clear(): void;
}

/** How far something has come, as text. */
export function progressText(done: number, total: number, what: string): string {
  const full = total === 0 ? WIDTH : Math.round((Math.min(done, total) / total) * WIDTH);
  const name = shownLine(what).slice(0, LONGEST_NAME);
  return `[${"█".repeat(full)}${"░".repeat(WIDTH - full)}] ${done}/${total} ${name}`.trimEnd();
}

/** A bar on standard error. */
export function progressBar(
  stream: { readonly isTTY?: boolean; write(text: string): unknown } = process.stderr,
): Progress {
  let isShown = false;
  const clear = (): void => {
    if (isShown) stream.write("\r\u001b[2K");
    isShown = false;
  };
  return {
    show(done, total, what) {
      if (!stream.isTTY) return;
      stream.write(`\r\u001b[2K${progressText(done, total, what)}`);
      isShown = true;
    },
    clear,
  };
}
