import { existsSync, readFileSync } from "node:fs";
import type { ToolDefinition } from "../../core/mod.ts";

/** A tool as its server lists it, with the name of that server. */
export interface RealTool extends ToolDefinition {
  readonly server: string;
}

const data = new URL("../../../shared/data/", import.meta.url);

/** Tools of real servers, where that collection lies beside the project; none elsewhere. */
export function realCatalog(): readonly RealTool[] {
  return readLines("catalog/tools.jsonl") as RealTool[];
}

/** Returns queries of people from a search benchmark; none if the file is missing. */
export function realQueries(): readonly string[] {
  return readLines("retrieval/livemcp-steps/queries.jsonl").map((line) => (line as { query: string }).query);
}

function readLines(file: string): unknown[] {
  const url = new URL(file, data);
  if (!existsSync(url)) return [];
  return readFileSync(url, "utf8")
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}
