import { readFile } from "node:fs/promises";
import * as v from "valibot";
import { describeIssue } from "../../core/issues.ts";
import { isJsonObject } from "../../core/json.ts";
import { GatewayError, type JsonObject, type Tool } from "../../core/mod.ts";

/** A query, and the tools that fit it. */
export interface LabelledQuery {
  readonly query: string;
  readonly relevant: readonly string[];
}

const filled = v.pipe(v.string(), v.nonEmpty("a text that is not empty"));
const object = v.custom<JsonObject>(isJsonObject, "an object");
const toolLine = v.object({
  id: filled,
  server: filled,
  name: filled,
  title: v.optional(v.string()),
  description: v.optional(v.nullable(v.string())),
  inputSchema: v.optional(object),
  annotations: v.optional(object),
  tags: v.optional(v.array(v.string())),
});
const queryLine = v.object({ query: v.string(), relevant: v.array(v.string()) });

/** Reads the tools of a labelled set, one JSON object a line. */
export async function readTools(file: string): Promise<Tool[]> {
  const lines = new Map<string, number>();
  return readLines(file, toolLine, (given, line): Tool => {
    const first = lines.get(given.id);
    if (first !== undefined) throw fault(file, line, `"${given.id}" is there already, in line ${first}`);
    lines.set(given.id, line);
    const {
      id,
      server,
      name,
      title,
      description,
      inputSchema = { type: "object" },
      annotations,
      tags = [],
    } = given;
    return {
      id,
      server,
      name,
      ...(title !== undefined && { title }),
      description: description ?? undefined,
      inputSchema,
      ...(annotations !== undefined && { annotations }),
      tags,
      enabled: true,
      builtin: false,
    };
  });
}

/** Reads the queries of a labelled set, one JSON object a line; each must want tools that are there. */
export async function readQueries(file: string, tools: readonly Tool[]): Promise<LabelledQuery[]> {
  const known = new Set(tools.map(({ id }) => id));
  return readLines(file, queryLine, (given, line) => {
    const missing = given.relevant.find((id) => !known.has(id));
    if (missing !== undefined) throw fault(file, line, `there is no tool "${missing}"`);
    return given;
  });
}

async function readLines<T, R>(
  file: string,
  schema: v.GenericSchema<unknown, T>,
  take: (value: T, line: number) => R,
): Promise<R[]> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (cause) {
    throw new GatewayError(
      "CONFIG_INVALID",
      `${file}: cannot be read (${(cause as NodeJS.ErrnoException).code}).`,
      { cause },
    );
  }
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
