import { createHash } from "node:crypto";

/** Where a server's definition stands: in our own config, in a person's own files, or in the files of a project. */
export type Scope = "config" | "user" | "project";

/** Which source a definition came from. */
export interface Origin {
  /** The name of the source: `cursor`, `claude-code`, `inline`, … */
  readonly source: string;
  readonly file?: string | undefined;
  readonly scope: Scope;
}

/** A process that speaks over its standard input and output. Variables are still as written. */
export interface StdioConnection {
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
export interface HttpConnection {
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
