import { toJsonSchema } from "@valibot/to-json-schema";
import type * as v from "valibot";
import { limitsSchema } from "../../core/config.ts";
import { type ErrorKind, errorKinds } from "../../core/errors.ts";
import { isPluginFactory, type Plugin } from "../../core/plugin.ts";
import {
  listOptions,
  listUndescribed,
  quoteName,
  renderDocComment,
  renderType,
} from "../../plugins/cli/option-list.ts";
import { usageError } from "../../plugins/lib/terminal/output.ts";
import { presets } from "../../presets/mod.ts";
import { packageModules } from "./source-graph.ts";

/** The facts about a plugin in the generated files. */
export interface PluginFacts {
  readonly name: string;
  readonly options: v.GenericSchema;
  readonly keys: readonly string[];
  readonly takesString: boolean;
  readonly errors: Readonly<Record<string, ErrorKind>>;
}

/** An error kind with the part of the program that declares it. */
export interface DeclaredError extends ErrorKind {
  readonly plugin: string;
}

type JsonSchema = Record<string, unknown>;

const GENERATED = "Generated from the plugins' options: npx vitest run test/core/config-schema.test.ts -u";

/** Loads every built-in plugin: those of the package's modules and those that only presets have. Sorted by name. */
export async function collectPlugins(root: string): Promise<PluginFacts[]> {
  const files = [...packageModules(root).values()].filter((file) => file.startsWith("plugins/"));
  const modules = await Promise.all(
    files.map((file) => import(new URL(`../../${file}`, import.meta.url).href)),
  );
  const factories = modules.flatMap((module) => Object.values(module).filter(isPluginFactory));
  const known = new Map<string, PluginFacts>(
    factories.map(({ pluginName: name, options, keys, takesString, errors }) => [
      name,
      { name, options, keys, takesString, errors },
    ]),
  );
  for (const load of Object.values(presets)) {
    for (const { name, options, keys = [], takesString = false, errors = {} } of (await load()).plugins)
      if (options && !known.has(name)) known.set(name, { name, options, keys, takesString, errors });
  }
  return [...known.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The JSON schema of a config file. */
export function toConfigSchema(plugins: readonly PluginFacts[]): JsonSchema {
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    $comment: GENERATED,
    title: "The config of toolpipe",
    type: "object",
    additionalProperties: false,
    properties: {
      $schema: { type: "string" },
      preset: {
        description: "A preset by name or by path",
        anyOf: [{ enum: Object.keys(presets) }, { type: "string", pattern: "[./]" }],
      },
      plugins: { description: "Paths or package names of plugins", type: "array", items: { type: "string" } },
      options: {
        description: "Options that replace those of plugins, by plugin name",
        type: "object",
        properties: Object.fromEntries(plugins.map(({ name, options }) => [name, toOptionsSchema(options)])),
        additionalProperties: { type: "object" },
      },
      limits: { description: "How long hooks may take", ...toOptionsSchema(limitsSchema) },
      ...Object.fromEntries(
        plugins.flatMap((plugin) => plugin.keys.map((key) => [key, toKeySchema(plugin, key)])),
      ),
    },
  };
}

function toOptionsSchema(options: v.GenericSchema): JsonSchema {
  const { $schema: _, ...schema } = toJsonSchema(options, {
    errorMode: "ignore",
    typeMode: "input",
    // Options that JSON cannot hold, such as functions, are left out.
    overrideSchema: ({ valibotSchema, jsonSchema }) =>
      ["custom", "function", "instance"].includes(valibotSchema.type) ? { not: {} } : jsonSchema,
  });
  return withoutCode(schema) as JsonSchema;
}

function withoutCode(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(withoutCode).filter((item) => !isCode(item));
  if (typeof node !== "object" || node === null) return node;
  const entries = Object.entries(node)
    .map(([key, value]) => [key, key === "default" ? value : withoutCode(value)] as const)
    .filter(([, value]) => !isCode(value));
  const [only, ...others] = (Object.fromEntries(entries)["anyOf"] as unknown[] | undefined) ?? [];
  // An alternative that is left alone needs no list.
  if (only === undefined || others.length > 0) return Object.fromEntries(entries);
  return { ...(only as object), ...Object.fromEntries(entries.filter(([key]) => key !== "anyOf")) };
}

function isCode(node: unknown): boolean {
  return (
    typeof node === "object" && node !== null && "not" in node && Object.keys(node.not as object).length === 0
  );
}

/** A key that is the plugin's name holds all of its options, or the one of that name where it cannot hold all. */
function toKeySchema({ name, options, takesString }: PluginFacts, key: string): JsonSchema {
  const all = { $ref: `#/properties/options/properties/${name}` };
  const one = { $ref: `#/properties/options/properties/${name}/properties/${key}` };
  if (name !== key) return one;
  return isOneAllowed(options, key, takesString) ? { anyOf: [all, one] } : all;
}

function isOneAllowed(options: v.GenericSchema, key: string, takesString: boolean): boolean {
  const row = listOptions(options).find((option) => option.name === key);
  return row !== undefined && (takesString || row.type.endsWith("[]"));
}

/** The types of options that `defineConfig` completes. */
export function toConfigTypes(plugins: readonly PluginFacts[]): string {
  const options = plugins
    .filter((plugin) => listOptions(plugin.options).length > 0)
    .map(
      ({ name, options }) =>
        `  ${renderDocComment(options, "  ")}readonly ${quoteName(name)}?: ${renderType(options, "  ")};\n`,
    );
  const keys = plugins.flatMap((plugin) =>
    plugin.keys.map((key) => {
      const all = `BuiltinOptions[${JSON.stringify(plugin.name)}]`;
      const one = `NonNullable<${all}>[${JSON.stringify(key)}]`;
      const both = isOneAllowed(plugin.options, key, plugin.takesString) ? `${all} | ${one}` : all;
      const entry = Object.entries(
        (plugin.options as { entries?: Record<string, v.GenericSchema> }).entries ?? {},
      ).find(([name]) => name === key && name !== plugin.name)?.[1];
      const doc = entry
        ? renderDocComment(entry, "  ")
        : `/** Options of the plugin \`${plugin.name}\`. */\n  `;
      return `  ${doc}readonly ${quoteName(key)}?: ${plugin.name === key ? both : one};\n`;
    }),
  );
  const names = Object.keys(presets).map((name) => JSON.stringify(name));
  return `// ${GENERATED}

/** The name of a preset. */
export type PresetName = ${names.join(" | ")};

/** Options of the built-in plugins by plugin name. */
export interface BuiltinOptions {
${options.join("")}}

/** Options that stand at the top of a config. Each belongs to a plugin. */
export interface BuiltinKeys {
${keys.join("")}}
`;
}

/** The page that documents every option. */
export function toOptionsPage(plugins: readonly PluginFacts[]): string {
  const sections = plugins.flatMap(({ name, keys, options }) => {
    if (listOptions(options).length === 0) return [];
    const top = keys.map((key) => `\`${key}\``).join(", ");
    return [`## ${name}\n\n${top === "" ? "" : `At the top of a config: ${top}.\n\n`}${toTable(options)}`];
  });
  return `# Options

<!-- ${GENERATED} -->

The options of every built-in plugin, under \`options\` of a config by plugin name. \`toolpipe config options [plugin]\` prints those of the plugins in use, your own included. An option whose type is \`unknown\` or \`object\` takes code, so only a config in TypeScript or JavaScript can set it.

${sections.join("\n")}
## limits

At the top of a config: \`limits\`, how long hooks may take.

${toTable(limitsSchema)}`;
}

function toTable(schema: v.GenericSchema): string {
  const lines = listOptions(schema).map((row) => {
    const fallback = row.default ? code(row.default) : row.isRequired ? "required" : "";
    return `| \`${row.name}\` | ${code(row.type)} | ${fallback} | ${cell(row.description ?? "")} |\n`;
  });
  return `| option | type | default | |\n|---|---|---|---|\n${lines.join("")}`;
}

function code(text: string): string {
  return `\`${cell(text)}\``;
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll("\n", " ");
}

/** Lists the error kinds of the core, the plugins and the commands, sorted by code. */
export async function collectErrors(root: string, plugins: readonly PluginFacts[]): Promise<DeclaredError[]> {
  const usage = usageError("").kind;
  const tables: readonly Pick<Plugin, "name" | "errors">[] = [
    { name: "core", errors: errorKinds },
    ...plugins,
    ...(await createServePlugin(root)),
    { name: "cli", errors: { [usage.code]: usage } },
  ];
  return tables
    .flatMap(({ name, errors = {} }) => Object.values(errors).map((kind) => ({ ...kind, plugin: name })))
    .sort((a, b) => (a.code < b.code ? -1 : 1));
}

/** Creates the plugin `serve`, if it is not deleted. It needs a view, so no module exports a factory of it. */
async function createServePlugin(root: string): Promise<Plugin[]> {
  const file = packageModules(root).get("toolpipe/plugins/serve");
  if (file === undefined) return [];
  const { createView, servePlugin } = await import(new URL(`../../${file}`, import.meta.url).href);
  return [servePlugin(createView())];
}

/** The page that documents every error code. */
export function toErrorsPage(errors: readonly DeclaredError[]): string {
  const lines = errors.map(
    ({ code: name, plugin, spec, rpc, exit, retry, description = "" }) =>
      `| \`${name}\` | ${plugin} | \`${spec}\` | ${rpc} | ${exit} | ${retry ? "yes" : "no"} | ${cell(description)} |\n`,
  );
  return `# Errors

<!-- Generated from the error kinds of core and plugins: npx vitest run test/core/config-schema.test.ts -u -->

Every failure has a code. Agents and \`--json\` output get the name of the specification, JSON-RPC clients the number, and a command ends with the exit code. Retry: whether the same request may succeed later. A plugin of your own declares its codes in \`errors\`, with \`defineError\`.

| code | plugin | specification | JSON-RPC | exit | retry | meaning |
|---|---|---|---|---|---|---|
${lines.join("")}`;
}

/** Options and fields of options that have no description. */
export function undescribedOptions(plugins: readonly PluginFacts[]): string[] {
  return plugins.flatMap(({ name, options }) => listUndescribed(options).map((path) => `${name}.${path}`));
}
