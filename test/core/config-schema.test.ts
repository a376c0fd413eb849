import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import {
  collectErrors,
  collectPlugins,
  toConfigSchema,
  toConfigTypes,
  toErrorsPage,
  toOptionsPage,
  undescribedOptions,
} from "../support/config-files.ts";
import { listFiles } from "../support/source-graph.ts";

// The pages about options and errors are generated from the plugins' declarations; `npx vitest run test/core/config-schema.test.ts -u`
// writes the files anew.
const root = fileURLToPath(new URL("../../", import.meta.url));
const plugins = await collectPlugins(root);
const errors = await collectErrors(root, plugins);

test("every option has a description", () => {
  expect(undescribedOptions(plugins)).toEqual([]);
});

test("the JSON schema for editors is up to date", async () => {
  await expect(`${JSON.stringify(toConfigSchema(plugins), null, 2)}\n`).toMatchFileSnapshot(
    "../../core/config.schema.json",
  );
});

test("the types of defineConfig are up to date", async () => {
  await expect(toConfigTypes(plugins)).toMatchFileSnapshot("../../core/config-types.ts");
});

test("the page of all options is up to date", async () => {
  await expect(toOptionsPage(plugins)).toMatchFileSnapshot("../../docs/options.md");
});

test("the page of all errors is up to date", async () => {
  await expect(toErrorsPage(errors)).toMatchFileSnapshot("../../docs/errors.md");
});

test("each error kind has a description and is declared by one plugin", () => {
  const codes = errors.map(({ code }) => code);
  expect(codes.filter((code, index) => codes.indexOf(code) !== index)).toEqual([]);
  expect(errors.filter(({ description }) => !description)).toEqual([]);
});

test("each error kind of a service, a plugin or a preset is declared by a plugin", () => {
  const declared = new Set(errors.map(({ code }) => code));
  const undeclared = ["core/services", "plugins", "presets"]
    .flatMap((folder) => listFiles(root, folder))
    .flatMap((file) =>
      [...readFileSync(join(root, file), "utf8").matchAll(/\bdefineError\(\s*("\w+"|[^,)]*)/g)].map(
        ([, code = ""]) => ({ file, code }),
      ),
    )
    // A code that is no literal counts as undeclared, since it cannot be read here.
    .filter(({ code }) => !declared.has(code.replaceAll('"', "")));
  expect(undeclared).toEqual([]);
});
