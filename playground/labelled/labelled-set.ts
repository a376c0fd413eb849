import { readFile } from "node:fs/promises";
import type { Tool } from "../../core/mod.ts";
import { type LabelledQuery, readQueries, readTools } from "../../plugins/lib/evaluation.ts";
import { ifExists } from "../../plugins/lib/files.ts";

/** A catalog with labelled queries. */
export interface LabelledSet {
  readonly tools: readonly Tool[];
  readonly queries: readonly LabelledQuery[];
  /** Queries that no tool of the catalog answers. */
  readonly nothing: readonly LabelledQuery[];
}

/** Reads the labelled set of a folder. Missing files are empty. */
export async function readLabelledSet(folder: URL = new URL("./", import.meta.url)): Promise<LabelledSet> {
  const read = async (name: string): Promise<string> =>
    (await ifExists(readFile(new URL(name, folder), "utf8"))) ?? "";
  return {
    tools: readTools(await read("tools.jsonl"), "tools.jsonl"),
    queries: readQueries(await read("queries.jsonl"), "queries.jsonl"),
    nothing: readQueries(await read("nothing.jsonl"), "nothing.jsonl"),
  };
}
