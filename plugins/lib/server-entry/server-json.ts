import type { JsonObject } from "../../../core/mod.ts";
import { getObject, type RawEntry } from "../../../core/services/sources.ts";
import { EntryError, readField } from "./connection.ts";
import { fillTemplate, type InputAnswers, inputValue, noAnswers, readObjects } from "./server-inputs.ts";
import { starters } from "./server-package.ts";

export type { InputAnswers, NeedKind, ServerNeed } from "./server-inputs.ts";

/** Options for {@link parseServerJson}. */
export interface ServerJsonOptions {
  /** Use of the server: the kind of a package, or `remote`; the first possible by default. */
  readonly use?: string | undefined;
  /** Whether only a package of an exact version is accepted; false by default. */
  readonly exact?: boolean | undefined;
  /** Values for its inputs; all are taken from the environment by default. */
  readonly answers?: InputAnswers | undefined;
}

/** Converts a server of the MCP registry to an entry. Missing values are taken from the environment. */
export function parseServerJson(data: JsonObject, options: ServerJsonOptions = {}): RawEntry {
  const { name } = data;
  let reason: string | undefined;
  for (const way of listCandidates(data, options)) {
    try {
      return { name, entry: { description: data["description"], ...way() } };
    } catch (thrown) {
      if (!(thrown instanceof EntryError)) throw thrown;
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

function* listCandidates(data: JsonObject, options: ServerJsonOptions): Generator<() => JsonObject> {
  const { use, exact = false, answers = noAnswers } = options;
  for (const one of readObjects(data, "packages")) {
    const kind = getPackageKind(one);
    const start = Object.hasOwn(starters, kind) ? starters[kind] : undefined;
    if (start && isLocal(one) && (use ?? kind) === kind) yield () => start(one, { exact, answers });
  }
  const remote = (use ?? "remote") === "remote" ? findRemote(data) : undefined;
  if (remote) yield () => toRemoteEntry(remote, answers);
}

/** Lists the uses of a server in the order of its publisher: kinds of packages, and `remote`. */
export function listUses(data: JsonObject): readonly string[] {
  const kinds = readObjects(data, "packages").filter(isLocal).map(getPackageKind);
  const known = kinds.filter((kind) => Object.hasOwn(starters, kind) || kind === "mcpb");
  return [...new Set([...known, ...(readObjects(data, "remotes").length > 0 ? ["remote"] : [])])];
}

/** Lists the packages of one kind that run over stdio. */
export function listPackages(data: JsonObject, kind: string): readonly JsonObject[] {
  return readObjects(data, "packages").filter((one) => isLocal(one) && getPackageKind(one) === kind);
}

function isLocal(one: JsonObject): boolean {
  return (getObject(one, "transport")["type"] ?? "stdio") === "stdio";
}

function getPackageKind(one: JsonObject): string {
  return String(readField(one, "registryType") ?? readField(one, "registryName"));
}

function findRemote(data: JsonObject): JsonObject | undefined {
  const remotes = readObjects(data, "remotes");
  return remotes.find((one) => getTransportType(one) === "streamable-http") ?? remotes[0];
}

function getTransportType(remote: JsonObject): unknown {
  return remote["type"] ?? readField(remote, "transportType");
}

function toRemoteEntry(remote: JsonObject, answers: InputAnswers): JsonObject {
  const variables = remote["variables"];
  const url =
    typeof remote["url"] === "string" ? fillTemplate(remote["url"], variables, "url", answers) : undefined;
  const headers = readObjects(remote, "headers").flatMap((header) => {
    const name = String(header["name"]);
    const value = inputValue({ variables, ...header }, "header", name, answers);
    return value === undefined ? [] : [[name, value]];
  });
  return { type: getTransportType(remote), url, headers: Object.fromEntries(headers) };
}
