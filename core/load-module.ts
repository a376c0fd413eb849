import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { extname } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { GatewayError } from "./errors.ts";
import { nearest } from "./nearest.ts";

/**
 * Imports a module, TypeScript included, as seen from a file. `toolpipe` in it means this very package,
 * and `valibot` our copy of it, so that a config beside no node_modules works. Modules are read anew every time: a config can be reloaded.
 *
 * jiti is used on every runtime: Node 20 cannot strip types, and neither Node nor Deno can point
 * `toolpipe` at ourselves from a folder that knows nothing of us.
 */
export async function loadModule(specifier: string, from: string): Promise<Record<string, unknown>> {
  const alias = await ownModules();
  if (specifier.startsWith("toolpipe/") && !Object.hasOwn(alias, specifier)) {
    const hint = nearest(specifier, Object.keys(alias));
    throw new GatewayError(
      "CONFIG_INVALID",
      `There is no module "${specifier}"${hint ? `; did you mean "${hint}"?` : "."}`,
    );
  }
  const own = Object.hasOwn(alias, specifier) ? alias[specifier] : undefined;
  if (own) return await import(pathToFileURL(own).href);
  const { createJiti } = await import("jiti");
  const inMemory: Record<string, unknown> = { toolpipe: await import("./mod.ts") };
  const jiti = createJiti(pathToFileURL(from).href, {
    alias,
    virtualModules: inMemory,
    // The default place is a shared temporary folder, where others could leave code for us to run.
    fsCache: false,
    moduleCache: false,
    interopDefault: false,
  });
  const file = jiti.esmResolve(specifier, { try: true });
  if (!file) return await jiti.import(specifier);
  const filename = fileURLToPath(file);
  const source = await readFile(filename, "utf8");
  // What it names of us is the very module in memory; only what its own imports name is run a second time.
  for (const [, name = ""] of source.matchAll(/["'](toolpipe\/[\w/-]+)["']/g)) {
    const mentioned = Object.hasOwn(alias, name) ? alias[name] : undefined;
    if (mentioned) inMemory[name] = await import(pathToFileURL(mentioned).href);
  }
  const isPlainModule = /\.m?js$/.test(filename) && /^\s*(import|export)\b/m.test(source);
  if (!isPlainModule || filename.includes("node_modules")) return await jiti.import(specifier);
  // The runtime's own import would be tried first: it never reads a file twice and, where it fails, jiti runs the file again.
  const options = { filename, ext: extname(filename), async: true, forceTranspile: true };
  return (await jiti.evalModule(source, options)) as Record<string, unknown>;
}

/** What loads each plugin of this package. */
export async function ownPlugins(): Promise<(() => Promise<Record<string, unknown>>)[]> {
  const modules = Object.entries(await ownModules()).filter(([name]) => name.startsWith("toolpipe/plugins/"));
  return modules.map(
    ([, file]) =>
      () =>
        import(pathToFileURL(file).href),
  );
}

/** Subpaths of former releases and the modules they stand for, kept for one release. */
export const formerSubpaths: Readonly<Record<string, string>> = {
  "plugins/domains": "plugins/discovery/domains",
  "plugins/export": "plugins/discovery/capability-files",
  "plugins/registry": "plugins/registries",
  "plugins/upstreams/openapi": "plugins/openapi",
};

/** Maps every module name of this package to its file: a source when run from sources, else a built file. */
async function ownModules(): Promise<Record<string, string>> {
  const extension = extname(fileURLToPath(import.meta.url));
  const file = (path: string): string => fileURLToPath(new URL(`../${path}${extension}`, import.meta.url));
  const modules: Record<string, string> = {};
  for (const folder of ["plugins", "presets"]) {
    for (const entry of await readdir(new URL(`../${folder}`, import.meta.url), { withFileTypes: true })) {
      const name = entry.isDirectory() ? entry.name : entry.name.slice(0, -extension.length);
      const path = entry.isDirectory() ? `${folder}/${name}/mod` : `${folder}/${name}`;
      const isModule = entry.isDirectory()
        ? existsSync(file(path))
        : entry.name === name + extension && !/^_|\.d$/.test(name);
      if (isModule) modules[`toolpipe/${folder}/${name}`] = file(path);
    }
  }
  for (const [former, path] of Object.entries(formerSubpaths))
    modules[`toolpipe/${former}`] = file(`${path}/mod`);
  modules["toolpipe"] = file("core/mod");
  modules["toolpipe/services"] = file("core/services/mod");
  // A plugin in a folder where only toolpipe is installed writes its options with our copy.
  modules["valibot"] = createRequire(import.meta.url).resolve("valibot");
  return modules;
}
