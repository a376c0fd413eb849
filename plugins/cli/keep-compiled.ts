import module from "node:module";
import { join } from "node:path";
import { cacheFolder } from "../lib/folders.ts";

/**
 * Enables the compile cache of Node 22.1 and later. In our own folder: where other users can write, they could leave code
 * for us to run.
 */
export function keepCompiled(): void {
  const { enableCompileCache } = module as { enableCompileCache?: (folder: string) => unknown };
  if (!("Deno" in globalThis)) enableCompileCache?.(join(cacheFolder(), "compiled"));
}
