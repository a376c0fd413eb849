// The command itself, with a listener that reports its memory after a garbage collection.
import { pathToFileURL } from "node:url";
import { fromRoot } from "../_root.ts";

/** The memory of a gateway, in bytes. */
export interface Held {
  readonly heap: number;
  readonly buffers: number;
}

process.on("message", () => {
  // Twice: what is ended by the first collection is let go of by the second.
  for (let time = 0; time < 2; time++) (globalThis as { gc?: () => void }).gc?.();
  const { heapUsed, external } = process.memoryUsage();
  process.send?.({ heap: heapUsed, buffers: external } satisfies Held);
});
const cli = "Deno" in globalThis ? "plugins/cli/toolpipe.ts" : "dist/plugins/cli/toolpipe.js";
await import(pathToFileURL(fromRoot(cli)).href);
