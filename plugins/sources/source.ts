import { GatewayError, isJsonObject, type JsonObject } from "../../core/mod.ts";
import type { Machine } from "./machine.ts";
import type { Scope } from "./server-config.ts";

/** A file, or several: a `*` in one of the parts stands for any characters. Nothing in `base` is special. */
export interface Place {
  readonly base: string;
  readonly parts: readonly string[];
}

/** Where a source may keep servers. */
export interface Location {
  readonly scope: Scope;
  /** Of several, only the first that exists is read. */
  readonly places: readonly Place[];
  /** Files that its reader also needs, by a name of its own. Those that are missing are left out. */
  readonly beside?: Readonly<Record<string, readonly Place[]>>;
  /** Where its form differs from the source's others. */
  readonly read?: Reader;
}

/** One server as its file has it. */
export interface RawEntry {
  /** As written: anything at all. */
  readonly name: unknown;
  readonly entry: unknown;
  /** Why it cannot be used, if its reader knows that already. */
  readonly reason?: string;
}

/** What one file holds. */
export interface Entries {
  readonly servers: readonly RawEntry[];
  /** What `${input:id}` asks for, as the file has it. */
  readonly inputs?: unknown;
}

/** What a reader knows besides the file itself. */
export interface ReadContext {
  readonly file: string;
  readonly scope: Scope;
  readonly machine: Machine;
  readonly beside: Readonly<Record<string, readonly unknown[]>>;
}

/** Finds the servers in a parsed file. Throws a `GatewayError` where its form is wrong. */
export type Reader = (data: JsonObject, context: ReadContext) => Entries;

/** How a client means what it does not say. */
export interface Dialect {
  /** What a bare `timeout` counts: the time of a call, or of the start. */
  readonly timeout?: "call-ms" | "call-s" | "start-ms";
  /** What a bare `url` speaks; Streamable HTTP by default. */
  readonly url?: "sse";
}

/** A program or a format that servers are imported from. */
export interface Source {
  readonly name: string;
  readonly dialect?: Dialect;
  readonly read: Reader;
  locations(machine: Machine): readonly Location[];
  /** Where a file of this source is, if a person names it; needed where one file is not enough. */
  at?(file: string): Omit<Location, "scope">;
  /** Servers that need not be read any more. */
  readonly entries?: readonly RawEntry[];
  /** The file those entries stand in, if it is one. */
  readonly file?: string | undefined;
}

/** A place from its folder and the way from there. */
export function place(base: string, ...parts: readonly string[]): Place {
  return { base, parts };
}

/** A file of the person's own. */
export function user(base: string, ...parts: readonly string[]): Location {
  return { scope: "user", places: [place(base, ...parts)] };
}

/** Files of the person's own, of which the first that exists counts. */
export function firstOf(...places: readonly Place[]): Location {
  return { scope: "user", places };
}

/** A file inside the project. */
export function project(machine: Machine, ...parts: readonly string[]): Location {
  return { scope: "project", places: [place(machine.project, ...parts)] };
}

/** Reads the servers under one key. */
export function serversAt(key: string): Reader {
  return (data) => ({ servers: entriesIn(data[key], key) });
}

/** The servers of a map by name, or of a list of entries that have one. */
export function entriesIn(value: unknown, key: string): readonly RawEntry[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) {
    return value.map((entry) => ({ name: isJsonObject(entry) ? entry["name"] : undefined, entry }));
  }
  if (isJsonObject(value)) return Object.entries(value).map(([name, entry]) => ({ name, entry }));
  throw new GatewayError("CONFIG_INVALID", `"${key}" is neither a map nor a list of servers.`);
}

/** The object at the end of a way through objects; an empty one where the way ends early. */
export function objectAt(value: unknown, ...keys: readonly string[]): JsonObject {
  let node = value;
  for (const key of keys) {
    node = isJsonObject(node) && Object.hasOwn(node, key) ? node[key] : undefined;
  }
  return isJsonObject(node) ? node : {};
}

/** The strings of a list; none where it is something else. */
export function stringsIn(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}

/** Changes every entry that is an object, or leaves it out. One that cannot be read does not cost the others. */
export function mapEntries(
  servers: readonly RawEntry[],
  change: (entry: JsonObject, name: unknown) => JsonObject | undefined,
): readonly RawEntry[] {
  return servers.flatMap((server) => {
    if (!isJsonObject(server.entry)) return [server];
    try {
      const entry = change(server.entry, server.name);
      return entry === undefined ? [] : [{ ...server, entry }];
    } catch {
      return [{ ...server, reason: "it cannot be read" }];
    }
  });
}
