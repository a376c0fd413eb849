import { existsSync, readFileSync } from "node:fs";
import type { JsonObject, ToolDefinition } from "../../core/mod.ts";
import type { CapabilityManifest, TypeEmitter } from "../../core/services/emitter.ts";
import { typeEmitters } from "../../plugins/types/mod.ts";
import { fromRoot } from "./_root.ts";

const TOOLS = 5_000;
const ROUNDS = 5;

interface ListedTool extends ToolDefinition {
  readonly server: string;
}

/** The time to write the types of 5,000 tools in each language, the first time and once the code is warm. */
export async function types(): Promise<void> {
  const collected = collectedTools();
  const tools = manifests(collected.length > 0 ? collected : madeUpTools());
  process.stdout.write(
    `| ${TOOLS.toLocaleString("en")} ${collected.length > 0 ? "real" : "made up"} tools | CPU ms, cold | CPU ms | MB of text |\n|---|--:|--:|--:|\n`,
  );
  for (const emitter of typeEmitters) {
    const cold = written(emitter, tools);
    const warm = Array.from({ length: ROUNDS }, () => written(emitter, tools).ms).toSorted((a, b) => a - b);
    const row = [cold.ms.toFixed(0), warm[ROUNDS >> 1]?.toFixed(0), (cold.characters / 1e6).toFixed(1)];
    process.stdout.write(`| ${[emitter.name, ...row].join(" | ")} |\n`);
  }
}

function written(
  emitter: TypeEmitter,
  tools: readonly CapabilityManifest[],
): { ms: number; characters: number } {
  let characters = 0;
  const before = process.cpuUsage();
  for (const tool of tools) characters += emitter.declaration(tool).length;
  const { user, system } = process.cpuUsage(before);
  return { ms: (user + system) / 1_000, characters };
}

function manifests(tools: readonly ListedTool[]): CapabilityManifest[] {
  return Array.from({ length: TOOLS }, (_, index) => {
    const {
      server,
      name,
      description = "",
      inputSchema,
      outputSchema,
    } = tools[index % tools.length] as ListedTool;
    return {
      id: `mcp.${server}.${name}`,
      version: "1.0.0",
      description,
      inputSchema,
      outputSchema,
      provider: { type: "mcp", serverUrl: "https://example.com/mcp", toolName: name },
      domains: [server],
      categories: [],
    };
  });
}

/** About as much as a real tool has to say. */
function madeUpTools(): ListedTool[] {
  return Array.from({ length: 100 }, (_, index) => {
    const properties: JsonObject = {};
    for (let count = 0; count < 3 + (index % 10); count++) {
      properties[`first_${count}`] = {
        type: "string",
        description: "What it is, in some words that say it.",
      };
      properties[`second_${count}`] = { type: "array", items: { enum: ["some", "of", "these", count] } };
      properties[`third_${count}`] = { anyOf: [{ $ref: "#/$defs/part" }, { type: "null" }], default: null };
    }
    const part = { type: "object", properties: { id: { type: "integer" }, name: { type: "string" } } };
    const inputSchema = { type: "object", properties, required: ["first_0"], $defs: { part } };
    return { server: "made-up", name: `tool_${index}`, description: "Does something.", inputSchema };
  });
}

/** The tools of a large collection of real servers, where that lies beside the project; none elsewhere. */
function collectedTools(): readonly ListedTool[] {
  const file = fromRoot("..", "shared", "data", "catalog", "tools.jsonl");
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, "utf8").split("\n").filter(Boolean);
  return lines.map((line) => JSON.parse(line) as ListedTool);
}
