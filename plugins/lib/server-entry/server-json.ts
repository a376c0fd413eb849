import type { JsonObject } from "../../../core/mod.ts";
import { objectAt, type RawEntry } from "../../../core/services/sources.ts";
import { Refusal } from "./connection-of.ts";
import { type Answers, field, filled, inputValue, noAnswers, objectsIn } from "./server-inputs.ts";
import { starters } from "./server-package.ts";

export type { Answers, NeedKind, ServerNeed } from "./server-inputs.ts";

/** How a server of a registry is to be used. */
export interface ServerJsonOptions {
  /** Which of the ways it offers: the kind of a package, or `remote`; the first that can be used by default. */
  readonly use?: string | undefined;
  /** Whether only a package of an exact version will do; false by default. */
  readonly exact?: boolean | undefined;
  /** What somebody answers to what it wants to know; by default it is all asked of the environment. */
  readonly answers?: Answers | undefined;
}

/** A server as the MCP registry describes it. What it needs and does not give is asked of the environment. */
export function fromServerJson(data: JsonObject, options: ServerJsonOptions = {}): RawEntry {
  const { name } = data;
  let reason: string | undefined;
  for (const way of candidates(data, options)) {
    try {
      return { name, entry: { description: data["description"], ...way() } };
    } catch (thrown) {
      if (!(thrown instanceof Refusal)) throw thrown;
      // Another way may do; if none does, the first one was meant.
      reason ??= thrown.message;
    }
  }
  return {
    name,
    entry: data,
    reason: reason ?? "it has neither a package that can be started here nor a remote",
  };
}

function* candidates(data: JsonObject, options: ServerJsonOptions): Generator<() => JsonObject> {
  const { use, exact = false, answers = noAnswers } = options;
  for (const one of objectsIn(data, "packages")) {
    const kind = kindOf(one);
    const start = Object.hasOwn(starters, kind) ? starters[kind] : undefined;
    if (start && isLocal(one) && (use ?? kind) === kind) yield () => start(one, { exact, answers });
  }
  const remote = (use ?? "remote") === "remote" ? bestRemote(data) : undefined;
  if (remote) yield () => remoteEntry(remote, answers);
}

/** The ways in which a server can be used, the publisher's first one first: kinds of packages, and `remote`. */
export function waysOf(data: JsonObject): readonly string[] {
  const kinds = objectsIn(data, "packages").filter(isLocal).map(kindOf);
  const known = kinds.filter((kind) => Object.hasOwn(starters, kind) || kind === "mcpb");
  return [...new Set([...known, ...(objectsIn(data, "remotes").length > 0 ? ["remote"] : [])])];
}

/** The packages of one kind that speak over standard input and output. */
export function packagesOf(data: JsonObject, kind: string): readonly JsonObject[] {
  return objectsIn(data, "packages").filter((one) => isLocal(one) && kindOf(one) === kind);
}

function isLocal(one: JsonObject): boolean {
  return (objectAt(one, "transport")["type"] ?? "stdio") === "stdio";
}

function kindOf(one: JsonObject): string {
  return String(field(one, "registryType") ?? field(one, "registryName"));
}

function bestRemote(data: JsonObject): JsonObject | undefined {
  const remotes = objectsIn(data, "remotes");
  return remotes.find((one) => typeOf(one) === "streamable-http") ?? remotes[0];
}

function typeOf(remote: JsonObject): unknown {
  return remote["type"] ?? field(remote, "transportType");
}

function remoteEntry(remote: JsonObject, answers: Answers): JsonObject {
  const variables = remote["variables"];
  const url =
    typeof remote["url"] === "string" ? filled(remote["url"], variables, "url", answers) : undefined;
  const headers = objectsIn(remote, "headers").flatMap((header) => {
    const name = String(header["name"]);
    const value = inputValue({ variables, ...header }, "header", name, answers);
    return value === undefined ? [] : [[name, value]];
  });
  return { type: typeOf(remote), url, headers: Object.fromEntries(headers) };
}
