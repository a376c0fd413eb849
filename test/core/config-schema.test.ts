import { readFile } from "node:fs/promises";
import { toJsonSchema } from "@valibot/to-json-schema";
import { expect, test } from "vitest";
import { isPluginFactory, type PluginFactory } from "../../core/plugin.ts";

async function pluginFactories(): Promise<PluginFactory[]> {
  const manifest = JSON.parse(await readFile(new URL("../../deno.json", import.meta.url), "utf8"));
  const files = Object.values<string>(manifest.exports).filter((file) => file.startsWith("./plugins/"));
  const modules = await Promise.all(
    files.map((file) => import(new URL(`../../${file}`, import.meta.url).href)),
  );
  return modules.flatMap((module) => Object.values(module).filter(isPluginFactory));
}

function optionsOf(factory: PluginFactory): object {
  const { $schema: _, properties, ...schema } = toJsonSchema(factory.options, { errorMode: "ignore" });
  // An option that JSON cannot hold, such as a function, has no type here.
  const sayable = Object.entries(properties ?? {}).filter(([, property]) => Object.keys(property).length > 0);
  return { ...schema, properties: Object.fromEntries(sayable) };
}

test("the JSON Schema for editors is the one the plugins make (vitest -u writes it)", async () => {
  const byName = (await pluginFactories()).map(
    (factory) => [factory.pluginName, optionsOf(factory)] as const,
  );
  const schema = {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "The config of toolpipe",
    type: "object",
    additionalProperties: false,
    properties: {
      $schema: { type: "string" },
      preset: {
        description: "A preset by name or by path",
        anyOf: [{ enum: ["anygpt", "gateway", "passthrough"] }, { type: "string", pattern: "[./]" }],
      },
      plugins: { description: "Paths or package names of plugins", type: "array", items: { type: "string" } },
      options: {
        description: "Options that replace those of plugins, by plugin name",
        type: "object",
        properties: Object.fromEntries(byName.toSorted(([a], [b]) => (a < b ? -1 : 1))),
        additionalProperties: { type: "object" },
      },
    },
  };
  await expect(`${JSON.stringify(schema, null, 2)}\n`).toMatchFileSnapshot("../../core/config.schema.json");
});
