import type { JsonObject } from "../../core/mod.ts";
import { Refusal, text, textMap, texts } from "./_fields.ts";
import type { Connection, HttpConnection, StdioConnection } from "./server-config.ts";
import { type Dialect, objectAt } from "./source.ts";

/** How an entry says its server is reached. Throws a `Refusal` where it does not say it. */
export function connectionOf(fields: JsonObject, dialect: Dialect): Connection {
  const command = fields["command"] ?? fields["cmd"];
  const url = fields["httpUrl"] ?? fields["url"] ?? fields["serverUrl"] ?? fields["uri"];
  const bare = fields["httpUrl"] === undefined ? (dialect.url ?? "http") : "http";
  const type = transportOf(fields) ?? (command === undefined ? bare : "stdio");
  if (type === "stdio") return stdio(fields, command);
  if (url === undefined) throw new Refusal("it names neither a command nor a URL");
  return http(fields, url, type);
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

function http(fields: JsonObject, given: unknown, type: HttpConnection["type"]): HttpConnection {
  const url = text(given, "its URL")?.trim();
  if (!url) throw new Refusal("its URL is empty");
  // One with variables in it is only known once it is used.
  if (!/[$]|\{env:/.test(url) && !isWebUrl(url)) throw new Refusal("its URL is not one of http or https");
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
