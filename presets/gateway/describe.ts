import { type Gateway, isJsonObject, type JsonObject, type Tool } from "../../core/mod.ts";
import { joinNames } from "../../plugins/lib/servers.ts";
import { assignNames } from "../../plugins/lib/tool-names.ts";
import { listAdapters, listAdapterTools, listCategories } from "./adapter-info.ts";
import { getOperationIds, ID_PATTERN, listLiveOperations } from "./operations.ts";
import { getSettings, spellToolNames } from "./options.ts";

const INSTRUCTION_TOKENS = 100;

/** Lists the tools for an agent: the five, named as its client can call them, or every operation. */
export function describeGatewayTools(gateway: Gateway): readonly Tool[] {
  // `expose` has no effect: lazy mode promises five tools to every client.
  return getSettings(gateway).mode === "full" ? describeOperations(gateway) : describeMetaTools(gateway);
}

function describeOperations(gateway: Gateway): readonly Tool[] {
  const tools = [...listLiveOperations(gateway).values()];
  const { getAdapterId } = getOperationIds(gateway);
  const names = assignNames(tools.map(({ server, name }) => ({ server: getAdapterId(server), name })));
  return tools.map((tool, index) => ({
    ...tool,
    name: names[index] as string,
    inputSchema: toListedSchema(tool.inputSchema),
  }));
}

function describeMetaTools(gateway: Gateway): readonly Tool[] {
  const changes: Readonly<Record<string, JsonObject>> = {
    "gateway.intent": { limit: { default: getSettings(gateway).defaultLimit } },
    "gateway.execute": { tool_id: { pattern: ID_PATTERN } },
    "gateway.adapters": { category: { enum: listCategories(gateway) } },
  };
  return gateway.tools.map((tool) => ({
    ...tool,
    name: spellToolNames(gateway, tool.name),
    description: spellToolNames(gateway, tool.description ?? ""),
    inputSchema: changeProperties(tool.inputSchema, changes[tool.name] ?? {}),
  }));
}

/** Writes the server instructions. */
export function writeGatewayInstructions(gateway: Gateway): string {
  const adapters = listAdapters(gateway);
  if (adapters.length === 0) return "No adapter is configured yet.";
  const counts = adapters.map((adapter) => ({
    id: adapter.id,
    tools: listAdapterTools(gateway, adapter).length,
  }));
  const total = counts.reduce((sum, { tools }) => sum + tools, 0);
  const names = counts
    .toSorted((a, b) => b.tools - a.tools || (a.id < b.id ? -1 : 1))
    .map(({ id, tools }) => `${id} (${tools})`);
  const offer = `${total} operations of ${adapters.length} adapters can be used here: ${joinNames(names, INSTRUCTION_TOKENS)}.`;
  if (getSettings(gateway).mode === "full") return offer;
  return spellToolNames(
    gateway,
    `${offer} They are not listed one by one. Describe your task to gateway.intent, then call gateway.execute with the tool_id it gives. ` +
      "High-risk operations need options.idempotency_key, destructive ones options.confirmed.",
  );
}

/** Removes invalid parts of a schema: a client that finds one invalid schema in a list refuses the list. */
function toListedSchema({ properties, required, ...rest }: JsonObject): JsonObject {
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

function changeProperties(schema: JsonObject, changes: JsonObject): JsonObject {
  const properties = isJsonObject(schema["properties"]) ? schema["properties"] : {};
  const changed = Object.entries(properties).map(([name, property]) => {
    const change = changes[name];
    return [name, isJsonObject(change) ? { ...(property as JsonObject), ...change } : property];
  });
  return { ...schema, properties: Object.fromEntries(changed) };
}
