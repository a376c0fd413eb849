import { createHash } from "node:crypto";
import { GatewayError, isJsonObject, type JsonObject } from "../mod.ts";

/** What sources need to know of the computer: where its users, programs and projects keep their files. */
export interface Machine {
  readonly platform: NodeJS.Platform;
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The folder of the current project. */
  readonly project: string;
}

/** Where a server's definition stands: in our own config, in a person's own files, or in the files of a project. */
export type Scope = "config" | "user" | "project";

/** Which source a definition came from. */
export interface Origin {
  /** The name of the source: `cursor`, `claude-code`, `inline`, … */
  readonly source: string;
  readonly file?: string | undefined;
  readonly scope: Scope;
}

interface OwnDriver {
  /** The name or module path of the upstream driver that connects, in place of the one of the type. */
  readonly driver?: string | undefined;
}

/** A process that speaks over its standard input and output. Variables are still as written. */
export interface StdioConnection extends OwnDriver {
  readonly type: "stdio";
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Names of variables of our own environment that it also gets. */
  readonly envNames?: readonly string[] | undefined;
  readonly envFile?: string | undefined;
  readonly cwd?: string | undefined;
}

/** A server that is reached by URL. Variables are still as written. */
export interface HttpConnection extends OwnDriver {
  readonly type: "http" | "sse";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The name of the variable that holds a bearer token. */
  readonly bearerEnv?: string | undefined;
  /** How we present ourselves where a login is made; most servers let a client register itself. */
  readonly oauth?: OAuthClient | undefined;
}

/** A client of a login service. */
export interface OAuthClient {
  readonly clientId?: string | undefined;
  readonly clientSecret?: string | undefined;
  readonly clientMetadataUrl?: string | undefined;
  readonly scope?: string | undefined;
  readonly redirectPort?: string | undefined;
}

/** How a server is reached. */
export type Connection = StdioConnection | HttpConnection;

/** A server as a source defines it, in one form for all of them. */
export interface ServerConfig {
  /** Its id in the catalog: no colon, no control character. */
  readonly name: string;
  readonly description?: string | undefined;
  readonly connection: Connection;
  /** Switched off where it is defined. */
  readonly disabled?: boolean | undefined;
  /** Which of its tools its definition allows or forbids, by exact name. */
  readonly tools?: { readonly include?: readonly string[]; readonly exclude?: readonly string[] } | undefined;
  readonly startTimeoutMs?: number | undefined;
  readonly callTimeoutMs?: number | undefined;
  /** What `${input:id}` in it asks a person for. */
  readonly inputs?:
    | Readonly<Record<string, { readonly description: string; readonly password: boolean }>>
    | undefined;
  readonly origin: Origin;
}

/** What a person approves: how the server is reached, down to the letter, but not where that was written. */
export function definitionHash({ name, connection }: ServerConfig): string {
  return createHash("sha256").update(canonical({ name, connection })).digest("hex");
}

/** Two projects may each have a server of the same name, or one of the same words that means another file. */
export function placeOf({ name, origin }: ServerConfig): string {
  return `${name} in ${origin.file ?? origin.source}`;
}

/** JSON with sorted keys, so that the same definition always has the same text. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const entries = Object.entries(value).filter(([, inner]) => inner !== undefined);
  const sorted = entries.toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${sorted.map(([key, inner]) => `${JSON.stringify(key)}:${canonical(inner)}`).join(",")}}`;
}

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

/** Something a person should know about what was imported. */
export interface SourceWarning {
  readonly code: "ENTRY_INVALID" | "RENAMED" | "SELF" | "DUPLICATE" | "SAME_NAME";
  /** A sentence with names and places, and no values. */
  readonly message: string;
}

/** What became of one file. */
export interface CollectedFile {
  readonly source: string;
  readonly file: string;
  readonly scope: Scope;
  readonly status: "read" | "missing" | "broken";
  /** How many servers it defines that can be used. */
  readonly count: number;
  /** Why it is broken: file, line and fault. */
  readonly reason?: string;
}

/** Every server of all sources, and what was found on the way. */
export interface Collected {
  readonly servers: readonly ServerConfig[];
  readonly files: readonly CollectedFile[];
  readonly warnings: readonly SourceWarning[];
}

/** Options of {@link Sources.collect}. */
export interface CollectOptions {
  /** Where this gateway itself is reached, so that it does not import itself. */
  readonly ownUrls?: readonly string[];
}

/** The sources of a gateway. Provided by the plugin `sources`. */
export interface Sources {
  /** Reads all of them anew. Never rejects. */
  collect(options?: CollectOptions): Promise<Collected>;
}
