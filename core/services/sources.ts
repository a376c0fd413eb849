import { GatewayError, isJsonObject, type JsonObject } from "../mod.ts";

/** The computer that sources read from: the folders of its user, programs and project. */
export interface Machine {
  readonly platform: NodeJS.Platform;
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Folder of the current project. */
  readonly project: string;
}

/** Owner of the file that defines a server: the gateway's config, the user, or a project. */
export type Scope = "config" | "user" | "project";

/** Source and file of a definition. */
export interface Origin {
  /** Name of the source: `cursor`, `claude-code`, `inline`, … */
  readonly source: string;
  readonly file?: string | undefined;
  readonly scope: Scope;
}

interface OwnDriver {
  /** Name or module path of the upstream driver that connects, in place of the one of the type. */
  readonly driver?: string | undefined;
}

/** Connection to a process over its standard input and output. Variables are not expanded. */
export interface StdioConnection extends OwnDriver {
  readonly type: "stdio";
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Names of variables of the gateway's environment that the process gets too. */
  readonly envNames?: readonly string[] | undefined;
  readonly envFile?: string | undefined;
  readonly cwd?: string | undefined;
}

/** Connection to a server at a URL. Variables are not expanded. */
export interface HttpConnection extends OwnDriver {
  readonly type: "http" | "sse";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Name of the variable that holds a bearer token. */
  readonly bearerEnv?: string | undefined;
  /** OAuth client of the gateway; most servers let a client register itself. */
  readonly oauth?: OAuthClient | undefined;
}

/** A client of an authorization server. */
export interface OAuthClient {
  readonly clientId?: string | undefined;
  readonly clientSecret?: string | undefined;
  readonly clientMetadataUrl?: string | undefined;
  readonly scope?: string | undefined;
  readonly redirectPort?: string | undefined;
}

/** Connection to a server. */
export type Connection = StdioConnection | HttpConnection;

/** Definition of a server, normalized from the format of its source. */
export interface ServerConfig {
  /** Id in the catalog: no colon, no control character. */
  readonly name: string;
  /** Name for people, until the server says its own. */
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly connection: Connection;
  /** Disabled by its definition. */
  readonly disabled?: boolean | undefined;
  /** Tools that the definition allows or forbids, by exact name. */
  readonly tools?: { readonly include?: readonly string[]; readonly exclude?: readonly string[] } | undefined;
  /** Tools that the definition describes. They are in the catalog until the server has listed its own. */
  readonly declaredTools?: readonly { readonly name: string; readonly description: string }[] | undefined;
  readonly startTimeoutMs?: number | undefined;
  readonly callTimeoutMs?: number | undefined;
  /** Inputs that `${input:id}` asks the user for. */
  readonly inputs?:
    | Readonly<Record<string, { readonly description: string; readonly password: boolean }>>
    | undefined;
  readonly origin: Origin;
}

/** Names a server by its file too: two projects may each have a server of the same name. */
export function toServerKey({ name, origin }: ServerConfig): string {
  return `${name} in ${origin.file ?? origin.source}`;
}

/** Path of one or more files: a `*` in one of the parts matches any characters. `base` is taken literally. */
export interface Place {
  readonly base: string;
  readonly parts: readonly string[];
}

/** A file in which a source may define servers. */
export interface Location {
  readonly scope: Scope;
  /** Candidates, of which the first that exists is read. */
  readonly places: readonly Place[];
  /** Further files for the reader, by a name that the reader chooses. Missing ones are left out. */
  readonly beside?: Readonly<Record<string, readonly Place[]>>;
  /** Reader of this file, if its format differs from the other files of the source. */
  readonly read?: Reader;
}

/** One server as its file defines it. */
export interface RawEntry {
  /** Unchecked: any value. */
  readonly name: unknown;
  readonly entry: unknown;
  /** Reason why the entry cannot be used, if the reader has found one. */
  readonly reason?: string;
}

/** Servers and inputs of one file. */
export interface Entries {
  readonly servers: readonly RawEntry[];
  /** Definitions of `${input:id}`, unchecked. */
  readonly inputs?: unknown;
}

/** Facts that a reader gets besides the content of the file. */
export interface ReadContext {
  readonly file: string;
  readonly scope: Scope;
  readonly machine: Machine;
  readonly beside: Readonly<Record<string, readonly unknown[]>>;
}

/** Finds the servers in a parsed file. Throws a `GatewayError` if the format is wrong. */
export type Reader = (data: JsonObject, context: ReadContext) => Entries;

/** Defaults of a client for fields that its format leaves open. */
export interface Dialect {
  /** Meaning and unit of a bare `timeout`: the time of a call, or of the start. */
  readonly timeout?: "call-ms" | "call-s" | "start-ms";
  /** Transport of a bare `url`; Streamable HTTP by default. */
  readonly url?: "sse";
}

/** A client program or file format that servers are imported from. */
export interface Source {
  readonly name: string;
  readonly dialect?: Dialect;
  readonly read: Reader;
  locations(machine: Machine): readonly Location[];
  /** Location of a file that the config names; needed if the source reads further files beside it. */
  at?(file: string): Omit<Location, "scope">;
  /** Servers that are not read from a file. */
  readonly entries?: readonly RawEntry[];
  /** The file that holds those entries, if any. */
  readonly file?: string | undefined;
}

/** Creates a path from a folder and the parts below it. */
export function place(base: string, ...parts: readonly string[]): Place {
  return { base, parts };
}

/** Describes a file of the user. */
export function userFile(base: string, ...parts: readonly string[]): Location {
  return { scope: "user", places: [place(base, ...parts)] };
}

/** Describes files of the user, of which the first that exists is read. */
export function firstFile(...places: readonly Place[]): Location {
  return { scope: "user", places };
}

/** Describes a file of the project. */
export function projectFile(machine: Machine, ...parts: readonly string[]): Location {
  return { scope: "project", places: [place(machine.project, ...parts)] };
}

/** Creates a reader of the servers under one key. */
export function readServers(key: string): Reader {
  return (data) => ({ servers: listEntries(data[key], key) });
}

/** Lists the servers of an object by name, or of a list of entries with names. */
export function listEntries(value: unknown, key: string): readonly RawEntry[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) {
    return value.map((entry) => ({ name: isJsonObject(entry) ? entry["name"] : undefined, entry }));
  }
  if (isJsonObject(value)) return Object.entries(value).map(([name, entry]) => ({ name, entry }));
  throw new GatewayError("CONFIG_INVALID", `"${key}" is neither an object nor a list of servers.`);
}

/** Returns the object at a path of keys; an empty one if there is none. */
export function getObject(value: unknown, ...keys: readonly string[]): JsonObject {
  let node = value;
  for (const key of keys) {
    node = isJsonObject(node) && Object.hasOwn(node, key) ? node[key] : undefined;
  }
  return isJsonObject(node) ? node : {};
}

/** Returns the strings of a list; none if the value is not a list. */
export function filterStrings(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}

/** Changes every entry that is an object, or leaves it out. A failure affects only its own entry. */
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

/** Warning about an imported server. */
export interface SourceWarning {
  readonly code: "ENTRY_INVALID" | "RENAMED" | "SELF" | "DUPLICATE" | "SAME_NAME";
  /** A sentence with names and files, and no values. */
  readonly message: string;
}

/** Outcome of reading one file. */
export interface CollectedFile {
  readonly source: string;
  readonly file: string;
  readonly scope: Scope;
  readonly status: "read" | "missing" | "broken";
  /** Number of usable servers in the file. */
  readonly count: number;
  /** Reason why the file is broken: file, line and fault. */
  readonly reason?: string;
}

/** The servers of all sources, with the outcome of each file and the warnings. */
export interface Collected {
  readonly servers: readonly ServerConfig[];
  readonly files: readonly CollectedFile[];
  readonly warnings: readonly SourceWarning[];
}

/** Options of {@link Sources.collect}. */
export interface CollectOptions {
  /** URLs of this gateway, so that it does not import itself. */
  readonly ownUrls?: readonly string[];
}

/** The sources of a gateway. Provided by the plugin `sources`. */
export interface Sources {
  /** Reads all sources again. Never rejects. */
  collect(options?: CollectOptions): Promise<Collected>;
}
