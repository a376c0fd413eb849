import { isAbsolute, win32 } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { JsonObject } from "../../../core/mod.ts";
import type { Connection, Machine, ServerConfig } from "../../../core/services/sources.ts";
import { type FilledConnection, fillConnection } from "../../lib/server-entry/expand.ts";
import { expandHome } from "../../lib/server-entry/machine.ts";
import { normalizeEntry } from "../../lib/server-entry/normalize.ts";

/** An entry for our own config, or the reason why there is none. */
export type MovedEntry =
  | { readonly entry: JsonObject; readonly reason?: undefined }
  | { readonly entry?: undefined; readonly reason: string };

/** Converts the entry of a client for our own config, where it must have the same meaning. */
export function moveEntry(config: ServerConfig, machine: Machine): MovedEntry {
  const reason = explainBound(config, machine);
  if (reason !== undefined) return { reason };
  // Unchanged if the meaning is the same, else with variables in our notation.
  for (const write of [(value: string) => value, toOwnNotation]) {
    const entry = createEntry(config, write);
    const { config: read } = normalizeEntry(
      { name: config.name, entry },
      { source: "inline", scope: "config" },
    );
    if (read && isSame(config, read, machine)) return { entry };
  }
  return { reason: "Its entry would have another meaning in another file." };
}

/** Explains why only the client can start a server. */
function explainBound({ connection, inputs, disabled }: ServerConfig, machine: Machine): string | undefined {
  if (disabled) return "It is switched off.";
  const asked = Object.keys(inputs ?? {});
  if (asked.length > 0) return `It uses \${input:${asked[0]}}, which only its client asks for.`;
  const folder = /\$\{(workspace\w*)\}/.exec(JSON.stringify(connection))?.[1];
  if (folder !== undefined) return `It uses \${${folder}}, which only its client knows.`;
  if (connection.type !== "stdio") return undefined;
  const { command, cwd, envFile } = connection;
  const paths = [cwd, envFile, /[\\/]/.test(command) ? command : undefined];
  const isBound = paths.some((path) => path !== undefined && isRelative(path, machine));
  return isBound ? "It has a path relative to the folder in which its client starts it." : undefined;
}

function isRelative(path: string, machine: Machine): boolean {
  const full = expandHome(path, machine);
  return !/^[$%{]/.test(full) && !(machine.platform === "win32" ? win32.isAbsolute(full) : isAbsolute(full));
}

const VARIABLE = /\$\$(?!\{)|\$\{\{[^{}]*\}\}|\$\{[^{}]*\}|\{env:(?<braceEnv>\w+)\}|\$(?<bare>[A-Za-z_]\w*)/g;

function toOwnNotation(value: string): string {
  return value.replace(VARIABLE, (...match) => {
    const { braceEnv, bare } = match.at(-1) as Record<string, string | undefined>;
    if (braceEnv !== undefined) return `\${${braceEnv}}`;
    if (bare === undefined) return match[0] as string;
    // In lower case it may be literal, and is if there is no such variable.
    return /[a-z]/.test(bare) ? `\${${bare}:-$${bare}}` : `\${${bare}}`;
  });
}

function createEntry(config: ServerConfig, write: (value: string) => string): JsonObject {
  const { description, tools, startTimeoutMs, callTimeoutMs } = config;
  const shared = { description, tools, startTimeoutMs, callTimeoutMs };
  return removeEmpty({ ...toConnectionEntry(config.connection, write), ...shared });
}

function toConnectionEntry(connection: Connection, write: (value: string) => string): JsonObject {
  const all = (map: Readonly<Record<string, string>>): JsonObject =>
    Object.fromEntries(Object.entries(map).map(([name, value]) => [name, write(value)]));
  if (connection.type === "stdio") {
    const { command, args, env, envNames, envFile, cwd } = connection;
    return {
      command: write(command),
      args: args.map(write),
      env: all(env),
      envNames,
      envFile: envFile && write(envFile),
      cwd: cwd && write(cwd),
    };
  }
  const { type, url, headers, bearerEnv, oauth } = connection;
  return {
    type,
    url: write(url),
    headers: all(headers),
    bearerEnv,
    oauth: oauth && all(oauth as Record<string, string>),
  };
}

function removeEmpty(entry: JsonObject): JsonObject {
  const isEmpty = (value: unknown): boolean =>
    value === undefined || (typeof value === "object" && value !== null && Object.keys(value).length === 0);
  return Object.fromEntries(Object.entries(entry).filter(([, value]) => !isEmpty(value)));
}

/** Compares two entries on a machine with all variables set, and on one with none. */
function isSame(before: ServerConfig, after: ServerConfig, machine: Machine): boolean {
  const [full, empty] = [true, false].map((isSet) => {
    const own = { ...machine, platform: "linux" as const, env: createVariables(isSet) };
    return [fillConnection(before, own), fillConnection(after, own)] as const;
  }) as [[FilledConnection, FilledConnection], [FilledConnection, FilledConnection]];
  const missing = ({ missing: names }: FilledConnection): string => names.toSorted().join();
  const sameEmpty =
    missing(empty[0]) === missing(empty[1]) &&
    (empty[0].missing.length > 0 || isDeepStrictEqual(toPlain(empty[0]), toPlain(empty[1])));
  const rest = ({ description, tools, startTimeoutMs, callTimeoutMs }: ServerConfig): unknown =>
    JSON.parse(JSON.stringify({ description, tools, startTimeoutMs, callTimeoutMs }));
  return (
    sameEmpty &&
    isDeepStrictEqual(toPlain(full[0]), toPlain(full[1])) &&
    isDeepStrictEqual(rest(before), rest(after))
  );
}

function toPlain({ connection }: FilledConnection): unknown {
  return JSON.parse(JSON.stringify(connection));
}

function createVariables(isSet: boolean): Record<string, string> {
  return new Proxy<Record<string, string>>(
    {},
    {
      get: (_, name) => (isSet ? `<${String(name)}>` : undefined),
      getOwnPropertyDescriptor: (_, name) =>
        isSet ? { value: `<${String(name)}>`, configurable: true, enumerable: true } : undefined,
    },
  );
}
