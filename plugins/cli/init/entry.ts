import { isAbsolute, win32 } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { JsonObject } from "../../../core/mod.ts";
import type { Connection, Machine, ServerConfig } from "../../../core/services/sources.ts";
import { type Filled, fillConnection } from "../../lib/server-entry/expand.ts";
import { untilde } from "../../lib/server-entry/machine.ts";
import { normalise } from "../../lib/server-entry/normalise.ts";

/** A definition as it stands in our own config, or why it cannot stand there. */
export type Moved =
  | { readonly entry: JsonObject; readonly reason?: undefined }
  | { readonly entry?: undefined; readonly reason: string };

/** Writes a client's definition for our own config, where it must mean exactly the same. */
export function moveEntry(config: ServerConfig, machine: Machine): Moved {
  const reason = whyBound(config, machine);
  if (reason !== undefined) return { reason };
  // As it is written, if that means the same with us; else in our way of writing variables.
  for (const write of [(text: string) => text, inOurWay]) {
    const entry = entryOf(config, write);
    const { config: read } = normalise({ name: config.name, entry }, { source: "inline", scope: "config" });
    if (read && isSame(config, read, machine)) return { entry };
  }
  return { reason: "What it says would not mean the same in another file." };
}

/** What only the client can give a server. */
function whyBound({ connection, inputs, disabled }: ServerConfig, machine: Machine): string | undefined {
  if (disabled) return "It is switched off.";
  const asked = Object.keys(inputs ?? {});
  if (asked.length > 0) return `It uses \${input:${asked[0]}}, which only its client asks for.`;
  const folder = /\$\{(workspace\w*)\}/.exec(JSON.stringify(connection))?.[1];
  if (folder !== undefined) return `It uses \${${folder}}, which only its client knows.`;
  if (connection.type !== "stdio") return undefined;
  const { command, cwd, envFile } = connection;
  const paths = [cwd, envFile, /[\\/]/.test(command) ? command : undefined];
  const isBound = paths.some((path) => path !== undefined && isRelative(path, machine));
  return isBound ? "It names a file from the folder that its client starts it in." : undefined;
}

function isRelative(path: string, machine: Machine): boolean {
  const full = untilde(path, machine);
  return !/^[$%{]/.test(full) && !(machine.platform === "win32" ? win32.isAbsolute(full) : isAbsolute(full));
}

const VARIABLE = /\$\$(?!\{)|\$\{\{[^{}]*\}\}|\$\{[^{}]*\}|\{env:(?<braceEnv>\w+)\}|\$(?<bare>[A-Za-z_]\w*)/g;

function inOurWay(text: string): string {
  return text.replace(VARIABLE, (...match) => {
    const { braceEnv, bare } = match.at(-1) as Record<string, string | undefined>;
    if (braceEnv !== undefined) return `\${${braceEnv}}`;
    if (bare === undefined) return match[0] as string;
    // In lower case it may be a part of the text, and is one if there is no such variable.
    return /[a-z]/.test(bare) ? `\${${bare}:-$${bare}}` : `\${${bare}}`;
  });
}

function entryOf(config: ServerConfig, write: (text: string) => string): JsonObject {
  const { description, tools, startTimeoutMs, callTimeoutMs } = config;
  const shared = { description, tools, startTimeoutMs, callTimeoutMs };
  return withoutEmpty({ ...written(config.connection, write), ...shared });
}

function written(connection: Connection, write: (text: string) => string): JsonObject {
  const all = (map: Readonly<Record<string, string>>): JsonObject =>
    Object.fromEntries(Object.entries(map).map(([name, text]) => [name, write(text)]));
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

function withoutEmpty(entry: JsonObject): JsonObject {
  const isEmpty = (value: unknown): boolean =>
    value === undefined || (typeof value === "object" && value !== null && Object.keys(value).length === 0);
  return Object.fromEntries(Object.entries(entry).filter(([, value]) => !isEmpty(value)));
}

/** Tried on a computer where every variable is set, and on one where none is. */
function isSame(before: ServerConfig, after: ServerConfig, machine: Machine): boolean {
  const [full, empty] = [true, false].map((isSet) => {
    const own = { ...machine, platform: "linux" as const, env: variables(isSet) };
    return [fillConnection(before, own), fillConnection(after, own)] as const;
  }) as [[Filled, Filled], [Filled, Filled]];
  const missing = ({ missing: names }: Filled): string => names.toSorted().join();
  const sameEmpty =
    missing(empty[0]) === missing(empty[1]) &&
    (empty[0].missing.length > 0 || isDeepStrictEqual(plain(empty[0]), plain(empty[1])));
  const rest = ({ description, tools, startTimeoutMs, callTimeoutMs }: ServerConfig): unknown =>
    JSON.parse(JSON.stringify({ description, tools, startTimeoutMs, callTimeoutMs }));
  return (
    sameEmpty &&
    isDeepStrictEqual(plain(full[0]), plain(full[1])) &&
    isDeepStrictEqual(rest(before), rest(after))
  );
}

function plain({ connection }: Filled): unknown {
  return JSON.parse(JSON.stringify(connection));
}

function variables(isSet: boolean): Record<string, string> {
  return new Proxy<Record<string, string>>(
    {},
    {
      get: (_, name) => (isSet ? `<${String(name)}>` : undefined),
      getOwnPropertyDescriptor: (_, name) =>
        isSet ? { value: `<${String(name)}>`, configurable: true, enumerable: true } : undefined,
    },
  );
}
