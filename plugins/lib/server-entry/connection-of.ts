import { isJsonObject, type JsonObject } from "../../../core/mod.ts";
import {
  type Connection,
  type Dialect,
  type HttpConnection,
  objectAt,
  type StdioConnection,
} from "../../../core/services/sources.ts";

/** How an entry says its server is reached. Throws a `Refusal` where it does not say it. */
export function connectionOf(fields: JsonObject, dialect: Dialect): Connection {
  const command = fields["command"] ?? fields["cmd"];
  const url = fields["httpUrl"] ?? fields["url"] ?? fields["serverUrl"] ?? fields["uri"];
  const bare = fields["httpUrl"] === undefined ? (dialect.url ?? "http") : "http";
  const type = transportOf(fields) ?? (command === undefined ? bare : "stdio");
  const driver = text(fields["driver"], "its driver");
  const own = driver === undefined ? {} : { driver };
  if (type === "stdio") return { ...stdio(fields, command), ...own };
  if (url === undefined) throw new Refusal("it names neither a command nor a URL");
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

function transportOf(fields: JsonObject): Connection["type"] | undefined {
  const said = [fields["type"], fields["transport"], fields["transportType"], fields["transport_type"]].find(
    (value) => typeof value === "string" && value !== "",
  );
  if (said === undefined) return undefined;
  const key = String(said).toLowerCase().replace(/[-_ ]/g, "");
  const type = Object.hasOwn(transports, key) ? transports[key] : undefined;
  if (type === undefined) throw new Refusal("its type is none that is known");
  return type;
}

function stdio(fields: JsonObject, given: unknown): StdioConnection {
  // Zed's older form: the command is an object with its own arguments and variables.
  const own = objectAt(given);
  const line = Array.isArray(given) ? texts(given, "its command") : undefined;
  const command = line ? line[0] : text(own["path"] ?? given, "its command");
  if (command === undefined || command.trim() === "") throw new Refusal("it names no command");
  const env = own["env"] ?? fields["env"] ?? fields["envs"] ?? fields["environment"];
  return {
    type: "stdio",
    command,
    args: [...(line?.slice(1) ?? []), ...texts(own["args"] ?? fields["args"], "its args")],
    env: checkEnv(textMap(env, "its env")),
    envNames: optional(texts(fields["envNames"], "its envNames")),
    envFile: text(fields["envFile"] ?? fields["env_file"], "its envFile"),
    cwd: text(fields["cwd"] ?? fields["workingDirectory"] ?? fields["working_directory"], "its cwd"),
  };
}

function http(
  fields: JsonObject,
  given: unknown,
  type: HttpConnection["type"],
  isAnyUrl: boolean,
): HttpConnection {
  const url = text(given, "its URL")?.trim();
  if (!url) throw new Refusal("its URL is empty");
  // One with variables in it is only known once it is used.
  if (!isAnyUrl && !/[$]|\{env:/.test(url) && !isWebUrl(url))
    throw new Refusal("its URL is not one of http or https");
  const requestOptions = objectAt(fields["requestOptions"]);
  return {
    type,
    url,
    headers: checkHeaders(textMap(fields["headers"] ?? requestOptions["headers"], "its headers")),
    bearerEnv: text(fields["bearerEnv"], "its bearerEnv"),
    ...oauth(objectAt(fields["oauth"])),
  };
}

/** Clients write all sorts of things here; what is not ours is passed over. */
function oauth(given: JsonObject): Pick<HttpConnection, "oauth"> {
  const client: Record<string, string> = {};
  for (const name of ["clientId", "clientSecret", "clientMetadataUrl", "scope", "redirectPort"]) {
    const value = given[name] ?? given[name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)];
    if (typeof value === "string" || typeof value === "number") client[name] = String(value);
  }
  return Object.keys(client).length > 0 ? { oauth: client } : {};
}

/** Whether a text is a URL of http or https. */
export function isWebUrl(url: string): boolean {
  return URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
}

function checkEnv(env: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  for (const name of Object.keys(env)) {
    if (name === "" || name.includes("="))
      throw new Refusal("a variable in its env has a name that cannot be used");
  }
  return env;
}

function checkHeaders(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  for (const [name, value] of Object.entries(headers)) {
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name))
      throw new Refusal("one of its headers has a name that cannot be used");
    if (/[\r\n]/.test(value)) throw new Refusal(`its header "${name}" holds a line break`);
  }
  return headers;
}

function optional(list: readonly string[]): readonly string[] | undefined {
  return list.length > 0 ? list : undefined;
}

/** Why an entry cannot be used, in words that quote no value. */
export class Refusal extends Error {}

/** A text, or what can stand for one in a file; undefined where there is nothing. */
export function text(value: unknown, what: string): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  if (typeof value !== "string") throw new Refusal(`${what} is not a text`);
  // No process and no request can hold this character.
  if (value.includes("\0")) throw new Refusal(`${what} holds a null character`);
  return value;
}

/** A list of texts; an empty one where there is nothing. */
export function texts(value: unknown, what: string): readonly string[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new Refusal(`${what} is not a list`);
  return value.map((item) => {
    const found = text(item, `one of ${what}`);
    if (found === undefined) throw new Refusal(`one of ${what} is not a text`);
    return found;
  });
}

/** Texts by name; an empty map where there is nothing. A name without a value is left out. */
export function textMap(value: unknown, what: string): Readonly<Record<string, string>> {
  if (value === undefined || value === null) return {};
  if (!isJsonObject(value)) throw new Refusal(`${what} is not a map`);
  const found: [string, string][] = [];
  for (const [name, item] of Object.entries(value)) {
    if (name.includes("\0")) throw new Refusal(`${what} holds a null character`);
    const own = text(item, `"${name}" in ${what}`);
    if (own !== undefined) found.push([name, own]);
  }
  return Object.fromEntries(found);
}
