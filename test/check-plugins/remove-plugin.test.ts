import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { listPlugins, removePlugin } from "./remove-plugin.ts";

const project = {
  "package.json":
    '{ "exports": { ".": "./dist/core/mod.js", "./plugins/a": { "default": "./dist/plugins/a/mod.js" } } }',
  "deno.json": '{ "exports": { ".": "./core/mod.ts", "./plugins/a": "./plugins/a/mod.ts" } }',
  "plugins/lib/x.ts": "export const x = 1;",
  "plugins/cli/commands.ts": 'export const commands = { a: () => import("../a/commands/mod.ts"), b: 1 };',
  "plugins/a/mod.ts": "export const a = 1;",
  "plugins/a/commands/mod.ts": "export const commands = {};",
  "plugins/b.ts": 'import { a } from "./a/mod.ts";\nexport const b = a;',
  "presets/base.ts":
    'import { a } from "../plugins/a/mod.ts";\nexport const base = [a, 2];\nexport const only = a;',
  "presets/mod.ts": 'import { base, only } from "./base.ts";\nexport const all = [...base, only];',
  "playground/x.ts": "export {};",
  "test/support/x.ts": "export {};",
  "test/contracts/c.ts": 'import type { a } from "../../plugins/a/mod.ts";\nexport type C = typeof a;',
  "test/story.test.ts": 'import { a } from "../plugins/a/mod.ts";\na;',
  "test/plugins/a/a.test.ts": 'import type { C } from "../../contracts/c.ts";',
  "test/plugins/b.test.ts": 'import { b } from "../../plugins/b.ts";\nb;',
  "test/plugins/b-with-a.test.ts": 'import { a } from "../../plugins/a/mod.ts";\na;',
  "test/together/b-with-a.test.ts": 'import { a } from "../../plugins/a/mod.ts";\na;',
};

test("a plugin goes with its tests and its lines, and what needs it elsewhere stays as it is", async () => {
  const root = await temporaryFolder(project);
  const read = (file: string): string =>
    readFileSync(join(root, file), "utf8").replaceAll(/\s+/g, " ").trim();
  expect(listPlugins(root)).toEqual(["a", "b"]);
  expect(removePlugin(root, "a").sort()).toEqual([
    "test/contracts/c.ts",
    "test/story.test.ts",
    "test/together/b-with-a.test.ts",
  ]);
  expect(["plugins/a", "test/plugins/a"].filter((folder) => existsSync(join(root, folder)))).toEqual([]);
  expect(read("plugins/cli/commands.ts")).toBe("export const commands = { b: 1 };");
  expect(read("presets/base.ts")).toBe("export const base = [ 2];");
  expect(read("presets/mod.ts")).toBe('import { base, } from "./base.ts"; export const all = [...base, ];');
  expect(read("package.json")).toBe('{ "exports": { ".": "./dist/core/mod.js" } }');
  // For the compiler to find.
  expect(read("plugins/b.ts")).toContain("./a/mod.ts");
  expect(existsSync(join(root, "test/plugins/b.test.ts"))).toBe(true);
  expect(existsSync(join(root, "test/plugins/b-with-a.test.ts"))).toBe(true);
});
