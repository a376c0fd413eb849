import { existsSync, readFileSync } from "node:fs";
import type { ToolDefinition } from "../../../core/mod.ts";

/** A tool as its server lists it, with the name of that server. */
export interface RealTool extends ToolDefinition {
  readonly server: string;
}

const data = new URL("../../../../shared/data/", import.meta.url);

/** Tools of real servers, where that collection lies beside the project; none elsewhere. */
export function realCatalog(): readonly RealTool[] {
  return linesOf("catalog/tools.jsonl") as RealTool[];
}

/** What people asked for, from a set made for measuring search; none where it is not there. */
export function realQueries(): readonly string[] {
  return linesOf("retrieval/livemcp-steps/queries.jsonl").map((line) => (line as { query: string }).query);
}

function linesOf(file: string): unknown[] {
  const url = new URL(file, data);
  if (!existsSync(url)) return [];
  return readFileSync(url, "utf8")
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}
