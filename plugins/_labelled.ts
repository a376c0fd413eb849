import { readFile } from "node:fs/promises";
import * as v from "valibot";
import { describeIssue } from "../core/issues.ts";
import { isJsonObject } from "../core/json.ts";
import { GatewayError, type JsonObject, type Tool } from "../core/mod.ts";

/** A query, and the tools that fit it; none where no tool does. */
export interface LabelledQuery {
  readonly query: string;
  readonly relevant: readonly string[];
  /** What sort of query it is. */
  readonly kind?: string | undefined;
}

const filled = v.pipe(v.string(), v.nonEmpty("a text that is not empty"));
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

/** The tools of a labelled set, one JSON object a line. Labels name them by their ids, whatever these look like. */
export function readTools(text: string, file: string): Tool[] {
  const lines = new Map<string, number>();
  return readLines(text, file, toolLine, (given, line): Tool => {
    const { server, name, id = `${server}:${name}`, title, description, annotations } = given;
    const first = lines.get(id);
    if (first !== undefined) throw fault(file, line, `"${id}" is there already, in line ${first}`);
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

/** The queries of a labelled set, one JSON object a line; where tools are given, each must want what is among them. */
export function readQueries(text: string, file: string, tools?: readonly Tool[]): LabelledQuery[] {
  const known = tools && new Set(tools.map(({ id }) => id));
  return readLines(text, file, queryLine, (given, line) => {
    const missing = known && given.relevant.find((id) => !known.has(id));
    if (missing !== undefined) throw fault(file, line, `there is no tool "${missing}"`);
    return given;
  });
}

/** The text of a file that a person has named. */
export async function textOf(file: string): Promise<string> {
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
  if (taken.length === 0) throw new GatewayError("CONFIG_INVALID", `${file}: there is nothing in it.`);
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
