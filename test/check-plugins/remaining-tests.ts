import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { readSources, SOURCE_FOLDERS } from "../support/source-graph.ts";
import { isProductTest } from "./remove-plugin.ts";

/** Test files that are left without a plugin, as far as its absence can change their outcome. */
export interface RemainingTests {
  /** Tests of core, of the helpers and of other plugins. They have to pass. */
  readonly own: readonly string[];
  /** Tests in the folders of other plugins that run the composed product, such as those of commands. */
  readonly composed: readonly string[];
}

/** Files that run the composed product: the composition roots, and those that start its build. */
const PRODUCT = /^(presets|plugins\/cli|playground)\//;
const STARTS_BUILD = /\bdist\/plugins/;
/** Marks of a test that runs or loads what its imports do not show. */
const UNSEEN_NEEDS = /node:child_process|node:worker_threads|load-module/;

/**
 * Lists the tests that a deletion can change: those that import a file which differs from the whole project, directly or
 * not, and those that start processes. All others run the very same code as before.
 */
export function listRemainingTests(root: string, whole: string): RemainingTests {
  const files = readSources(root, [...SOURCE_FOLDERS, "test"]);
  const imports = new Map(files.map((file) => [file.path, file.imports]));
  const read = (folder: string, path: string): string => readFileSync(join(folder, path), "utf8");
  const product = new Set<string>();
  const affecting = new Set<string>();
  for (const { path } of files) {
    const text = read(root, path);
    const isTest = path.startsWith("test/");
    if (PRODUCT.test(path) || (isTest && STARTS_BUILD.test(text))) product.add(path);
    const isChanged = !existsSync(join(whole, path)) || text !== read(whole, path);
    if (isChanged || (isTest && UNSEEN_NEEDS.test(text))) affecting.add(path);
  }
  const own: string[] = [];
  const composed: string[] = [];
  for (const { path } of files) {
    if (!path.endsWith(".test.ts") || isProductTest(path)) continue;
    const needed = listNeeded(path, imports);
    if (needed.some((file) => product.has(file))) composed.push(path);
    else if (needed.some((file) => affecting.has(file))) own.push(path);
  }
  return { own, composed };
}

/** A file and all that it imports, directly or not. */
function listNeeded(
  path: string,
  imports: ReadonlyMap<string, readonly { readonly to: string; readonly isType: boolean }[]>,
): string[] {
  const seen = new Set<string>([path]);
  // A set yields what is added while it is read.
  for (const file of seen) for (const { to, isType } of imports.get(file) ?? []) if (!isType) seen.add(to);
  return [...seen];
}
