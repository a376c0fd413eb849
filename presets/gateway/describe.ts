import { type Exposure, type Gateway, isJsonObject, type JsonObject, type Tool } from "../../core/mod.ts";
import { someOf } from "../../plugins/lib/servers.ts";
import { shownNames } from "../../plugins/lib/tool-names.ts";
import { adaptersOf, toolsOf } from "./adapter-info.ts";
import { CATEGORIES } from "./adapters.ts";
import { ID_PATTERN, operationIds } from "./operation-ids.ts";
import { optionsOf, say } from "./options-of.ts";
import { liveOperations } from "./registry.ts";

const INSTRUCTION_TOKENS = 100;

/** The tools that an agent sees: the five, called as its client can call them, or every operation. */
export function describeTools(gateway: Gateway, exposure: Exposure = "meta"): readonly Tool[] {
  const { mode, defaultLimit } = optionsOf(gateway);
  if (exposure === "both" && mode !== "full") {
    return [...describeTools(gateway), ...describeTools(gateway, "tools")];
  }
  if (mode === "full" || exposure === "tools") {
    const live = [...liveOperations(gateway).values()];
    const { adapterOf } = operationIds(gateway);
    const names = shownNames(live.map(({ server, name }) => ({ server: adapterOf(server), name })));
    return live.map((tool, index) => ({
      ...tool,
      name: names[index] as string,
      inputSchema: listable(tool.inputSchema),
    }));
  }
  return gateway.tools.map((tool) => {
    const changes: Readonly<Record<string, JsonObject>> = {
      "gateway.intent": { limit: { default: defaultLimit } },
      "gateway.execute": { tool_id: { pattern: ID_PATTERN } },
      "gateway.adapters": { category: { enum: categoriesOf(gateway) } },
    };
    return {
      ...tool,
      name: say(gateway, tool.name),
      description: say(gateway, tool.description ?? ""),
      inputSchema: withChanges(tool.inputSchema, changes[tool.name] ?? {}),
    };
  });
}

/** What an agent is told of the gateway when it connects. */
export function instructions(gateway: Gateway, exposure: Exposure = "meta"): string {
  const adapters = adaptersOf(gateway);
  const counts = adapters.map((adapter) => ({ id: adapter.id, tools: toolsOf(gateway, adapter).length }));
  const total = counts.reduce((sum, { tools }) => sum + tools, 0);
  if (adapters.length === 0) return "No adapter is configured yet.";
  const names = counts
    .toSorted((a, b) => b.tools - a.tools || (a.id < b.id ? -1 : 1))
    .map(({ id, tools }) => `${id} (${tools})`);
  const offer = `${total} operations of ${adapters.length} adapters can be used here: ${someOf(names, INSTRUCTION_TOKENS)}.`;
  if (optionsOf(gateway).mode === "full" || exposure !== "meta") return offer;
  return say(
    gateway,
    `${offer} They are not listed one by one. Describe your task to gateway.intent, then call gateway.execute with the tool_id it gives. ` +
      "High-risk operations need options.idempotency_key, destructive ones options.confirmed.",
  );
}

function categoriesOf(gateway: Gateway): string[] {
  const own = adaptersOf(gateway).map(({ category }) => category);
  return [...new Set([...CATEGORIES, ...own.sort()]), "all"];
}

/** A client that finds one schema that is none in a list takes none of it, so that what is no schema is left out. */
function listable(schema: JsonObject): JsonObject {
  const { properties, required, ...rest } = schema;
  const own = isJsonObject(properties)
    ? Object.entries(properties).map(([name, property]) => [name, isJsonObject(property) ? property : {}])
    : [];
  return {
    ...rest,
    type: "object",
    ...(own.length > 0 && { properties: Object.fromEntries(own) }),
    ...(Array.isArray(required) && { required: required.filter((name) => typeof name === "string") }),
  };
}

function withChanges(schema: JsonObject, changes: JsonObject): JsonObject {
  const properties = isJsonObject(schema["properties"]) ? schema["properties"] : {};
  const changed = Object.entries(properties).map(([name, property]) => {
    const change = changes[name];
    return [name, isJsonObject(change) ? { ...(property as JsonObject), ...change } : property];
  });
  return { ...schema, properties: Object.fromEntries(changed) };
}
