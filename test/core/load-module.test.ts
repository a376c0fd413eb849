import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { loadModule } from "../../core/load-module.ts";
import { GatewayError } from "../../core/mod.ts";
import { catchFailure } from "../support/failure.ts";
import { temporaryFolder, writeFiles } from "../support/temporary-folder.ts";

test.each(["ts", "mts", "js", "mjs"])(
  "a .%s module that imports the core gets the one in memory",
  async (ending) => {
    const name = `module.${ending}`;
    const folder = await temporaryFolder({
      [name]: `import { GatewayError } from "toolpipe"; export { GatewayError };`,
    });
    const module = await loadModule(`./${name}`, join(folder, "any"));
    expect(module["GatewayError"]).toBe(GatewayError);
  },
);

test("options can be described with valibot, though it is not installed there", async () => {
  const folder = await temporaryFolder({
    "module.ts": `import * as v from "valibot"; export const parsed = v.parse(v.number(), 5);`,
  });
  expect((await loadModule("./module.ts", join(folder, "any")))["parsed"]).toBe(5);
});

test("resolves a relative path against the given file, and accepts an absolute one", async () => {
  const folder = await temporaryFolder({ "deep/module.ts": "export const where = import.meta.url;" });
  const relative = await loadModule("../module.ts", join(folder, "deep/er/any.ts"));
  expect(relative["where"]).toContain("/deep/module.ts");
  const absolute = await loadModule(join(folder, "deep/module.ts"), "/any");
  expect(absolute["where"]).toBe(relative["where"]);
});

test("within one load a module that two others import runs once, and a circle of them ends", async () => {
  const folder = await temporaryFolder({
    "main.ts": `import { a } from "./a.ts"; import { b } from "./b.ts"; export const runs = [a(), b()];`,
    "a.ts": `import { count } from "./shared.ts"; import { b } from "./b.ts"; count.runs++;
      export const a = (): string => "a" + count.runs + typeof b;`,
    "b.ts": `import { count } from "./shared.ts"; import { a } from "./a.ts"; count.runs++;
      export const b = (): string => "b" + count.runs + typeof a;`,
    "shared.ts": "export const count = { runs: 0 };",
  });
  const module = await loadModule("./main.ts", join(folder, "any"));
  expect(module["runs"]).toEqual(["a2function", "b2function"]);
});

test("a module may wait before it is ready, and use syntax that only TypeScript has", async () => {
  const folder = await temporaryFolder({
    "module.ts": `enum Size { Small = 1 } export const value: number = await Promise.resolve(Size.Small as number);`,
  });
  expect((await loadModule("./module.ts", join(folder, "any")))["value"]).toBe(1);
});

test("a module is read again with what it imports", async () => {
  const folder = await temporaryFolder({ "main.ts": `export { value } from "./value.ts";` });
  const seen: unknown[] = [];
  for (const value of [1, 2, 3]) {
    await writeFiles(folder, { "value.ts": `export const value = ${value};` });
    seen.push((await loadModule("./main.ts", join(folder, "any")))["value"]);
  }
  expect(seen).toEqual([1, 2, 3]);
});

test("an ES module in plain JavaScript is read again, in a folder of type module too", async () => {
  const folder = await temporaryFolder({ "package.json": `{ "type": "module" }` });
  for (const name of ["main.mjs", "main.js"]) {
    const seen: unknown[] = [];
    for (const value of [1, 2, 3]) {
      await writeFiles(folder, { [name]: `export const value = ${value};` });
      seen.push((await loadModule(`./${name}`, join(folder, "any")))["value"]);
    }
    expect([name, ...seen]).toEqual([name, 1, 2, 3]);
  }
});

test("nothing is left in the folder for temporary files, where others could change it", async () => {
  const folder = await temporaryFolder({
    "module.ts": `import "toolpipe"; export const a: number = 1;`,
  });
  const temporary = await temporaryFolder();
  vi.stubEnv("TMPDIR", temporary);
  await loadModule("./module.ts", join(folder, "any"));
  vi.unstubAllEnvs();
  expect(await readdir(temporary)).toEqual([]);
  expect(await readdir(folder)).toEqual(["module.ts"]);
});

test.each([
  ["toolpipe/presets/shared", "There is no module"],
  ["toolpipe/core/mod", "There is no module"],
])("a module that this package does not have is refused: %s", async (specifier, message) => {
  const error = await catchFailure(loadModule(specifier, "/any"));
  expect(error).toMatchObject({ code: "CONFIG_INVALID" });
  expect(error.message).toContain(message);
});
