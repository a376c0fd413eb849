import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import {
  collectPlugins,
  toConfigSchema,
  toConfigTypes,
  toOptionsPage,
  undescribedOptions,
} from "../support/config-files.ts";

// What users see of options is generated from the plugins' schemas; `npx vitest run test/core/config-schema.test.ts -u`
// writes the files anew.
const plugins = await collectPlugins(fileURLToPath(new URL("../../", import.meta.url)));
const undescribed = undescribedOptions(plugins);

// Before the snapshots: these may only get shorter.
test("no option without a description is added", () => {
  const allowed = JSON.parse(
    readFileSync(new URL("undescribed-options.json", import.meta.url), "utf8"),
  ) as string[];
  expect(undescribed.filter((option) => !allowed.includes(option))).toEqual([]);
});

test("the list of options without a description is up to date", async () => {
  await expect(`${JSON.stringify(undescribed, null, 2)}\n`).toMatchFileSnapshot("undescribed-options.json");
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
