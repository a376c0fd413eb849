import { isJsonObject, type JsonObject } from "../../../core/mod.ts";
import {
  type Connection,
  type Dialect,
  getObject,
  type HttpConnection,
  type StdioConnection,
} from "../../../core/services/sources.ts";

/** Parses the connection of an entry. Throws an `EntryError` if the entry does not define one. */
export function parseConnection(fields: JsonObject, dialect: Dialect): Connection {
  const command = fields["command"] ?? fields["cmd"];
  const url = fields["httpUrl"] ?? fields["url"] ?? fields["serverUrl"] ?? fields["uri"];
  const bare = fields["httpUrl"] === undefined ? (dialect.url ?? "http") : "http";
  const type = parseTransport(fields) ?? (command === undefined ? bare : "stdio");
  const driver = readString(fields["driver"], "its driver");
  const own = driver === undefined ? {} : { driver };
  // A driver of one's own may need neither; it stands for the command, so that messages name something.
  if (driver !== undefined && command === undefined && url === undefined)
    return { ...stdio(fields, driver), ...own };
  if (type === "stdio") return { ...stdio(fields, command), ...own };
  if (url === undefined) throw new EntryError("it names neither a command nor a URL");
  return { ...http(fields, url, type, driver !== undefined), ...own };
}

const transports: Readonly<Record<string, Connection["type"]>> = {
  stdio: "stdio",
  local: "stdio",
  command: "stdio",
  http: "http",
  streamable: "http",
  streamablehttp: "http",
  remote: "http",
  sse: "sse",
};

function parseTransport(fields: JsonObject): Connection["type"] | undefined {
  const said = [fields["type"], fields["transport"], fields["transportType"], fields["transport_type"]].find(
    (value) => typeof value === "string" && value !== "",
  );
  if (said === undefined) return undefined;
  const key = String(said).toLowerCase().replace(/[-_ ]/g, "");
  const type = Object.hasOwn(transports, key) ? transports[key] : undefined;
  if (type === undefined) throw new EntryError("its type is none that is known");
  return type;
}

function stdio(fields: JsonObject, given: unknown): StdioConnection {
  // Zed's older form: the command is an object with its own arguments and variables.
  const own = getObject(given);
  const line = Array.isArray(given) ? readStrings(given, "its command") : undefined;
  const command = line ? line[0] : readString(own["path"] ?? given, "its command");
  if (command === undefined || command.trim() === "") throw new EntryError("it names no command");
  const env = own["env"] ?? fields["env"] ?? fields["envs"] ?? fields["environment"];
  return {
    type: "stdio",
    command,
    args: [...(line?.slice(1) ?? []), ...readStrings(own["args"] ?? fields["args"], "its args")],
    env: checkEnv(readStringMap(env, "its env")),
    envNames: optional(readStrings(fields["envNames"], "its envNames")),
    envFile: readString(fields["envFile"] ?? fields["env_file"], "its envFile"),
    cwd: readString(fields["cwd"] ?? fields["workingDirectory"] ?? fields["working_directory"], "its cwd"),
  };
}

function http(
  fields: JsonObject,
  given: unknown,
  type: HttpConnection["type"],
  isAnyUrl: boolean,
): HttpConnection {
  const url = readString(given, "its URL")?.trim();
  if (!url) throw new EntryError("its URL is empty");
  // One with variables in it is only known once it is used.
  if (!isAnyUrl && !/[$]|\{env:/.test(url) && !isWebUrl(url))
    throw new EntryError("its URL is not one of http or https");
  const requestOptions = getObject(fields["requestOptions"]);
  return {
    type,
    url,
    headers: checkHeaders(readStringMap(fields["headers"] ?? requestOptions["headers"], "its headers")),
    bearerEnv: readString(fields["bearerEnv"], "its bearerEnv"),
    ...oauth(getObject(fields["oauth"])),
  };
}

/** Clients write many other fields here, which are ignored. */
function oauth(given: JsonObject): Pick<HttpConnection, "oauth"> {
  const client: Record<string, string> = {};
  for (const name of ["clientId", "clientSecret", "clientMetadataUrl", "scope", "redirectPort"]) {
    const value = readField(given, name);
    if (typeof value === "string" || typeof value === "number") client[name] = String(value);
  }
  return Object.keys(client).length > 0 ? { oauth: client } : {};
}

/** Reads a field in camel case or in snake case, which registries used before autumn 2025. */
export function readField(object: JsonObject, name: string): unknown {
  return object[name] ?? object[name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)];
}

/** Whether a string is a URL of http or https. */
export function isWebUrl(url: string): boolean {
  return URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
}

function checkEnv(env: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  for (const name of Object.keys(env)) {
    if (name === "" || name.includes("="))
      throw new EntryError("a variable in its env has a name that cannot be used");
  }
  return env;
}

function checkHeaders(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  for (const [name, value] of Object.entries(headers)) {
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name))
      throw new EntryError("one of its headers has a name that cannot be used");
    if (/[\r\n]/.test(value)) throw new EntryError(`its header "${name}" holds a line break`);
  }
  return headers;
}

function optional(list: readonly string[]): readonly string[] | undefined {
  return list.length > 0 ? list : undefined;
}

/** Reason why an entry cannot be used. The message quotes no value. */
export class EntryError extends Error {}

/** Reads a string, or a value that can stand for one in a file; undefined if there is none. */
function readString(value: unknown, what: string): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  if (typeof value !== "string") throw new EntryError(`${what} is not a string`);
  // No process and no request can hold this character.
  if (value.includes("\0")) throw new EntryError(`${what} holds a null character`);
  return value;
}

/** Reads a list of strings; empty if there is none. */
export function readStrings(value: unknown, what: string): readonly string[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new EntryError(`${what} is not a list`);
  return value.map((item) => {
    const found = readString(item, `one of ${what}`);
    if (found === undefined) throw new EntryError(`one of ${what} is not a string`);
    return found;
  });
}

/** Reads strings by name; empty if there are none. A name without a value is left out. */
function readStringMap(value: unknown, what: string): Readonly<Record<string, string>> {
  if (value === undefined || value === null) return {};
  if (!isJsonObject(value)) throw new EntryError(`${what} is not a map`);
  const found: [string, string][] = [];
  for (const [name, item] of Object.entries(value)) {
    if (name.includes("\0")) throw new EntryError(`${what} holds a null character`);
    const own = readString(item, `"${name}" in ${what}`);
    if (own !== undefined) found.push([name, own]);
  }
  return Object.fromEntries(found);
}
