import { readFile } from "node:fs/promises";
import * as v from "valibot";
import { describeIssue } from "../../core/issues.ts";
import { isJsonObject } from "../../core/json.ts";
import { GatewayError, type JsonObject, type Tool } from "../../core/mod.ts";

/** Measures of rankings, each between 0 and 1; the mean over queries. */
export interface Quality {
  readonly recall1: number;
  readonly recall5: number;
  readonly recall10: number;
  readonly ndcg10: number;
  readonly mrr: number;
}

const qualityNames: readonly (keyof Quality)[] = ["recall1", "recall5", "recall10", "ndcg10", "mrr"];

/** Measures one ranking. An id that is listed twice counts at its first place. */
export function measureQuality(ranked: readonly string[], relevant: Iterable<string>): Quality {
  const wanted = new Set(relevant);
  const order = [...new Set(ranked)];
  return {
    recall1: computeRecall(1, order, wanted),
    recall5: computeRecall(5, order, wanted),
    recall10: computeRecall(10, order, wanted),
    ndcg10: computeNdcg(10, order, wanted),
    mrr: reciprocalRank(order, wanted),
  };
}

/** Returns the mean of each measure; 0 for an empty list. */
export function meanQuality(all: readonly Quality[]): Quality {
  const mean = (name: keyof Quality): number =>
    all.reduce((sum, each) => sum + each[name], 0) / Math.max(1, all.length);
  return Object.fromEntries(qualityNames.map((name) => [name, mean(name)])) as unknown as Quality;
}

/** Returns the share of relevant ids among the first `count`; 0 if none is relevant. */
export function computeRecall(count: number, ranked: readonly string[], wanted: ReadonlySet<string>): number {
  if (wanted.size === 0) return 0;
  return ranked.slice(0, count).filter((id) => wanted.has(id)).length / wanted.size;
}

/** Returns the discounted gain of the first `count`, as a share of the best possible. */
export function computeNdcg(count: number, ranked: readonly string[], wanted: ReadonlySet<string>): number {
  let gain = 0;
  let best = 0;
  for (let place = 0; place < count; place++) {
    const worth = 1 / Math.log2(place + 2);
    if (wanted.has(ranked[place] ?? "")) gain += worth;
    if (place < wanted.size) best += worth;
  }
  return best === 0 ? 0 : gain / best;
}

/** Returns 1 divided by the place of the first relevant id; 0 if none is listed. */
export function reciprocalRank(ranked: readonly string[], wanted: ReadonlySet<string>): number {
  const place = ranked.findIndex((id) => wanted.has(id));
  return place < 0 ? 0 : 1 / (place + 1);
}

/** Returns the smallest value that is at least as large as this share of a list; 0 for an empty list. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
}

/** Query with the tools that fit it; none if no tool does. */
export interface LabelledQuery {
  readonly query: string;
  readonly relevant: readonly string[];
  /** Kind of the query, such as `no-shared-word`. */
  readonly kind?: string | undefined;
}

const filled = v.pipe(v.string(), v.nonEmpty("a string that is not empty"));
const object = v.custom<JsonObject>(isJsonObject, "an object");
const toolLine = v.object({
  id: v.optional(filled),
  server: v.optional(filled, "tools"),
  name: filled,
  title: v.optional(v.string()),
  description: v.optional(v.nullable(v.string())),
  inputSchema: v.optional(object, { type: "object" }),
  annotations: v.optional(object),
  tags: v.optional(v.array(v.string()), []),
});
const queryLine = v.object({
  query: v.string(),
  relevant: v.optional(v.array(v.string()), []),
  kind: v.optional(v.string()),
});

/** Reads the tools of a labelled set, one JSON object a line. Labels name them by `id`, in any form. */
export function readTools(text: string, file: string): Tool[] {
  const lines = new Map<string, number>();
  return readLines(text, file, toolLine, (given, line): Tool => {
    const { server, name, id = `${server}:${name}`, title, description, annotations } = given;
    const first = lines.get(id);
    if (first !== undefined) throw fault(file, line, `"${id}" is listed already, in line ${first}`);
    lines.set(id, line);
    return {
      id,
      server,
      name,
      ...(title !== undefined && { title }),
      description: description ?? undefined,
      inputSchema: given.inputSchema,
      ...(annotations !== undefined && { annotations }),
      tags: given.tags,
      enabled: true,
      builtin: false,
    };
  });
}

/** Reads the queries of a labelled set, one JSON object a line. With `tools`, each label must be among them. */
export function readQueries(text: string, file: string, tools?: readonly Tool[]): LabelledQuery[] {
  const known = tools && new Set(tools.map(({ id }) => id));
  return readLines(text, file, queryLine, (given, line) => {
    const missing = known && given.relevant.find((id) => !known.has(id));
    if (missing !== undefined) throw fault(file, line, `there is no tool "${missing}"`);
    return given;
  });
}

/** Reads a file that the user named. */
export async function readUserFile(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new GatewayError("CONFIG_INVALID", `${file}: cannot be read (${code}).`, { cause });
  }
}

function readLines<T, R>(
  text: string,
  file: string,
  schema: v.GenericSchema<unknown, T>,
  take: (value: T, line: number) => R,
): R[] {
  const taken: R[] = [];
  text
    .replace(/^\uFEFF/, "")
    .split("\n")
    .forEach((line, index) => {
      if (line.trim() === "") return;
      const parsed = v.safeParse(schema, parse(file, index + 1, line));
      if (!parsed.success) throw fault(file, index + 1, describeIssue(parsed.issues[0], "the line"));
      taken.push(take(parsed.output, index + 1));
    });
  if (taken.length === 0) throw new GatewayError("CONFIG_INVALID", `${file}: the file is empty.`);
  return taken;
}

function parse(file: string, line: number, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw fault(file, line, "this is not JSON", cause);
  }
}

function fault(file: string, line: number, reason: string, cause?: unknown): GatewayError {
  return new GatewayError("CONFIG_INVALID", `${file}:${line}: ${reason}.`, { cause });
}
