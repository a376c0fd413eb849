import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { listFiles, packageModules, readSource } from "../support/source-graph.ts";
import { type IsGone, pruneFile } from "./prune-file.ts";

/** Composition roots, and what tests run them with: their lines about a plugin are removed with it. */
const ROOTS = ["presets", "plugins/cli", "playground", "test/support"];
/** Tests of the composed product and of several plugins together. One that needs the plugin goes with it. */
const PRODUCT_TESTS =
  /^test\/(presets|together|specs|playground|cookbook|bench|conformance|soak|torture|plugins\/cli)\/|^test\/[^/]+\.ts$/;
/** Whether a test runs the composed product, or several plugins together. */
export function isProductTest(path: string): boolean {
  return PRODUCT_TESTS.test(path);
}
/** Suites and programs that tests share. One that needs the plugin goes with the last test that uses it. */
const SHARED = /^test\/(contracts|fixtures)\//;

/** The plugins of a checkout by name. The shell of the commands is a composition root, and `lib` no plugin. */
export function listPlugins(root: string): string[] {
  return readdirSync(join(root, "plugins"), { withFileTypes: true })
    .map((entry) => (entry.isDirectory() ? entry.name : entry.name.replace(/\.ts$/, "")))
    .filter((name) => !["cli", "lib"].includes(name) && !name.startsWith("_"))
    .sort();
}

/**
 * Deletes a plugin, its tests and its lines in the composition roots. Returns the other tests that went too, of
 * which none is a test of another plugin.
 */
export function removePlugin(root: string, name: string): string[] {
  const modules = packageModules(root);
  const goneFiles = new Set<string>();
  const goneNames = new Map<string, Set<string>>();
  const isGone: IsGone = (file, exported) =>
    exported === undefined ? goneFiles.has(file) : goneNames.get(file)?.has(exported) === true;
  const isOwn = new RegExp(`^(plugins|test/plugins)/${name}(/|\\.ts$|\\.test\\.ts$|-[\\w-]+\\.test\\.ts$)`);
  const isLib = new RegExp(`^plugins/${name}-`);
  for (const file of [...listFiles(root, "plugins"), ...listFiles(root, "test/plugins")])
    if (isOwn.test(file) && !isLib.test(file)) drop(file);
  for (const folder of ["plugins", "test/plugins"])
    rmSync(join(root, folder, name), { recursive: true, force: true });
  const roots = ROOTS.flatMap((folder) => listFiles(root, folder));
  const tests = listFiles(root, "test");
  const dropped: string[] = [];
  for (let isChanged = true; isChanged; ) {
    isChanged = false;
    for (const file of roots) {
      if (goneFiles.has(file)) continue;
      const pruned = pruneFile(file, readFileSync(join(root, file), "utf8"), isGone, modules);
      if (!pruned) continue;
      isChanged = true;
      writeFileSync(join(root, file), pruned.text);
      const lost = new Set([...(goneNames.get(file) ?? []), ...pruned.lost]);
      goneNames.set(file, lost);
      const { exports } = readSource(file, pruned.text, modules);
      if (lost.size > 0 && exports.length === 0) drop(file);
    }
    for (const file of tests) {
      if (goneFiles.has(file) || !needsGone(file)) continue;
      isChanged = true;
      dropped.push(file);
      drop(file);
    }
  }
  for (const manifest of ["package.json", "deno.json"]) pruneManifest(join(root, manifest), goneFiles);
  return dropped;

  function drop(file: string): void {
    goneFiles.add(file);
    rmSync(join(root, file));
  }

  function needsGone(file: string): boolean {
    const text = readFileSync(join(root, file), "utf8");
    const imports = readSource(file, text, modules).imports.map(({ to }) => to);
    if (PRODUCT_TESTS.test(file))
      return imports.some((to) => isGone(to)) || pruneFile(file, text, isGone, modules) !== undefined;
    if (SHARED.test(file)) return imports.some((to) => isGone(to)) && !isImported(file);
    return false;
  }

  function isImported(file: string): boolean {
    return tests.some(
      (one) =>
        !goneFiles.has(one) &&
        // A test of the composed product goes with the suite.
        !PRODUCT_TESTS.test(one) &&
        readSource(one, readFileSync(join(root, one), "utf8"), modules).imports.some(({ to }) => to === file),
    );
  }
}

/** Removes the entries of a manifest that point to files which are gone. */
function pruneManifest(file: string, goneFiles: ReadonlySet<string>): void {
  if (!existsSync(file)) return;
  const manifest = JSON.parse(readFileSync(file, "utf8")) as { exports: Record<string, unknown> };
  const toSource = (path: string): string => path.replace(/^\.\/(dist\/)?/, "").replace(/\.js$/, ".ts");
  for (const [key, target] of Object.entries(manifest.exports)) {
    const path = typeof target === "string" ? target : (target as { default: string }).default;
    if (goneFiles.has(toSource(path))) delete manifest.exports[key];
  }
  writeFileSync(file, `${JSON.stringify(manifest, undefined, 2)}\n`);
}
