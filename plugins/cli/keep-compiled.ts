import module from "node:module";
import { join } from "node:path";
import { cacheFolder } from "../lib/folders.ts";

/**
 * Lets Node keep what it compiles for the next start; older ones cannot. In a folder of our own: in one that everybody
 * can write to, somebody could leave code for us to run.
 */
export function keepCompiled(): void {
  const { enableCompileCache } = module as { enableCompileCache?: (folder: string) => unknown };
  if (!("Deno" in globalThis)) enableCompileCache?.(join(cacheFolder(), "compiled"));
}
