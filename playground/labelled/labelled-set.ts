import { readFile } from "node:fs/promises";
import type { Tool } from "../../core/mod.ts";
import { type LabelledQuery, readQueries, readTools } from "../../plugins/lib/evaluation.ts";

/** A catalog, and what is asked of it. */
export interface LabelledSet {
  readonly tools: readonly Tool[];
  readonly queries: readonly LabelledQuery[];
  /** Queries about things that nothing in the catalog does. */
  readonly nothing: readonly LabelledQuery[];
}

/** Reads the labelled set that stands beside this file. */
export async function readLabelledSet(): Promise<LabelledSet> {
  const [tools, queries, nothing] = await Promise.all(
    ["tools.jsonl", "queries.jsonl", "nothing.jsonl"].map((name) =>
      readFile(new URL(name, import.meta.url), "utf8"),
    ),
  );
  return {
    tools: readTools(tools ?? "", "tools.jsonl"),
    queries: readQueries(queries ?? "", "queries.jsonl"),
    nothing: readQueries(nothing ?? "", "nothing.jsonl"),
  };
}
