import { GatewayError, isJsonObject, type JsonObject, type Tool } from "../core/mod.ts";
import type { LabelledQuery } from "./protocol.ts";

/** Reads the tools of a file with one JSON object a line. The first of two with the same id counts. */
export function readTools(text: string, file: string): readonly Tool[] {
  const tools = new Map<string, Tool>();
  for (const { value, fault } of objectsIn(text, file)) {
    const { name, server = "tools", title, description, inputSchema, tags } = value;
    if (typeof name !== "string" || name === "") throw fault("has no name");
    if (typeof server !== "string" || server === "") throw fault("has a server that is no text");
    // The labels of a set name tools by the ids of its own file.
    const id = typeof value["id"] === "string" ? value["id"] : `${server}:${name}`;
    if (tools.has(id)) continue;
    tools.set(id, {
      id,
      server,
      name,
      ...(typeof title === "string" && { title }),
      ...(typeof description === "string" && { description }),
      inputSchema: isJsonObject(inputSchema) ? inputSchema : { type: "object" },
      tags: textsIn(tags),
      enabled: true,
      builtin: false,
    });
  }
  if (tools.size === 0) throw new GatewayError("CONFIG_INVALID", `${file} holds no tools.`);
  return [...tools.values()];
}

/** Reads the labelled queries of a file with one JSON object a line. One that names no tool expects none. */
export function readQueries(text: string, file: string): readonly LabelledQuery[] {
  const queries: LabelledQuery[] = [];
  for (const { value, fault } of objectsIn(text, file)) {
    const { query, relevant = [], kind } = value;
    if (typeof query !== "string") throw fault("has no query");
    if (!Array.isArray(relevant)) throw fault('has a "relevant" that is no list of ids');
    queries.push({ query, relevant: textsIn(relevant), ...(typeof kind === "string" && { kind }) });
  }
  if (queries.length === 0) throw new GatewayError("CONFIG_INVALID", `${file} holds no queries.`);
  return queries;
}

interface Line {
  readonly value: JsonObject;
  /** What is wrong with it. */
  fault(what: string): GatewayError;
}

function* objectsIn(text: string, file: string): Generator<Line> {
  let number = 0;
  for (const line of text.split("\n")) {
    number++;
    if (line.trim() === "") continue;
    const at = `Line ${number} of ${file}`;
    const fault = (what: string): GatewayError => new GatewayError("CONFIG_INVALID", `${at} ${what}.`);
    let value: unknown;
    try {
      value = JSON.parse(number === 1 ? line.replace(/^\uFEFF/, "") : line);
    } catch {
      throw fault("is not JSON");
    }
    if (!isJsonObject(value)) throw fault("is not an object");
    yield { value, fault };
  }
}

function textsIn(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}
