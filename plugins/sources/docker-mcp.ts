import { dirname, join } from "node:path";
import { isJsonObject, type JsonObject } from "../../core/mod.ts";
import {
  getObject,
  type Location,
  listEntries,
  place,
  type RawEntry,
  type Reader,
  type Source,
} from "../../core/services/sources.ts";

const TEMPLATE = /\{\{([^{}]*)\}\}/g;

/** Reads the servers that the user has enabled, as the catalogs describe them. */
const readEnabled: Reader = (data, { beside }) => {
  const catalogs = (beside["catalogs"] ?? []).map((catalog) => getObject(catalog, "registry"));
  const settings = Object.assign(
    {},
    ...(beside["config"] ?? []).map((config) => getObject(config)),
  ) as JsonObject;
  const tools = Object.assign({}, ...(beside["tools"] ?? []).map((file) => getObject(file))) as JsonObject;
  return {
    servers: listEntries(data["registry"], "registry").map(({ name, entry }): RawEntry => {
      const key = String(name);
      const found = catalogs.find((catalog) => isJsonObject(catalog[key]) && Object.hasOwn(catalog, key));
      if (!found) return { name, entry, reason: "no catalog on this computer describes it" };
      const own = { ...getObject(settings, key), ...getObject(entry, "config") };
      return fromCatalog(key, getObject(found, key), { ...settings, [key]: own }, tools[key]);
    }),
  };
};

function fromCatalog(name: string, server: JsonObject, settings: JsonObject, allowed: unknown): RawEntry {
  const { description, image, type } = server;
  const common = { description, ...(Array.isArray(allowed) && { tools: allowed }) };
  const remote = getObject(server, "remote");
  const url = remote["url"] ?? server["sseEndpoint"];
  if (typeof url === "string" && url !== "") {
    const transport = remote["transport_type"] ?? (remote["url"] === undefined ? "sse" : undefined);
    return { name, entry: { ...common, type: transport, url, headers: remote["headers"] } };
  }
  if (type === "poci")
    return { name, entry: server, reason: "it is a container for each tool, not a server" };
  // One that begins with a dash would be an option to Docker.
  if (typeof image !== "string" || !/^\w/.test(image))
    return { name, entry: server, reason: "its catalog names no image" };
  const env = listVariables(server, settings);
  const args = [
    ...["run", "-i", "--rm", "--init", "--security-opt", "no-new-privileges"],
    ...(server["disableNetwork"] === true ? ["--network", "none"] : []),
    // Docker takes the values from its own environment: on the command line, everyone could read them.
    ...Object.keys(env).flatMap((variable) => ["-e", variable]),
    ...expandTemplates(server["volumes"], settings).flatMap((volume) => ["-v", volume]),
    image,
    ...expandTemplates(server["command"], settings),
  ];
  return { name, entry: { ...common, command: "docker", args, env } };
}

/** Lists the variables of a server. Only Docker can open its keychain, so secrets come from the environment. */
function listVariables(server: JsonObject, settings: JsonObject): Record<string, string> {
  const list = (key: string): readonly JsonObject[] => {
    const value = server[key];
    return Array.isArray(value) ? value.filter(isJsonObject) : [];
  };
  const env: [string, string][] = [];
  for (const { env: variable } of list("secrets")) {
    if (typeof variable === "string") env.push([variable, `\${${variable}}`]);
  }
  for (const { name, value } of list("env")) {
    if (typeof name !== "string" || value === undefined || value === null) continue;
    const filled = expandTemplate(String(value), settings).join(",");
    if (filled !== "") env.push([name, filled]);
  }
  return Object.fromEntries(env);
}

/** Describes the files of the toolkit, which are in one folder. */
function describeToolkit(folder: string): Omit<Location, "scope"> {
  return {
    places: [place(folder, "registry.yaml")],
    read: readEnabled,
    beside: {
      catalogs: [place(folder, "catalogs", "*.yaml")],
      config: [place(folder, "config.yaml")],
      tools: [place(folder, "tools.yaml")],
    },
  };
}

/** Docker's MCP toolkit: the list of spec 001, and the registry with its catalogs. */
export const dockerMcp: Source = {
  name: "docker-mcp",
  read: (data) => ({ servers: listEntries(data["mcpServers"], "mcpServers") }),
  at: (file) =>
    /registry\.ya?ml$/.test(file)
      ? { ...describeToolkit(dirname(file)), places: [place(file)] }
      : { places: [place(file)] },
  locations: ({ home }) => [
    { scope: "user", places: [place(home, ".docker", "mcp-servers.json")] },
    { scope: "user", ...describeToolkit(join(home, ".docker", "mcp")) },
  ],
};

/** Expands the templates in a list, as Docker's gateway does; one template may become several items, or none. */
export function expandTemplates(list: unknown, settings: unknown): readonly string[] {
  if (!Array.isArray(list)) return [];
  return list.flatMap((item) => expandTemplate(String(item), settings)).filter((item) => item !== "");
}

/** Expands `{{a.b|filter}}` with the user's settings. A string that is one template may have several values. */
export function expandTemplate(text: string, settings: unknown): readonly string[] {
  const whole = /^\{\{([^{}]*)\}\}$/.exec(text.trim())?.[1];
  if (whole !== undefined) return evaluate(whole, settings);
  return [text.replace(TEMPLATE, (_, expression: string) => evaluate(expression, settings).join(","))];
}

function evaluate(expression: string, settings: unknown): readonly string[] {
  const [path = "", ...filters] = expression.split("|").map((part) => part.trim());
  const keys = path.split(".").map((key) => key.trim());
  const value = getObject(settings, ...keys.slice(0, -1))[keys.at(-1) ?? ""];
  let values = (Array.isArray(value) ? value : [value]).filter(isPlain).map(String);
  for (const filter of filters) {
    const [name, ...rest] = filter.split(":");
    values = apply(name ?? "", rest.join(":").trim(), values);
  }
  return values;
}

function apply(filter: string, argument: string, values: string[]): string[] {
  switch (filter) {
    case "volume":
      return values.map((path) => `${path}:${toContainerPath(path)}`);
    case "volume-target":
      return values.map(toContainerPath);
    case "mount_as":
      return values.slice(0, 1).map((path) => `${path}:${argument}`);
    case "first":
      return values.slice(0, 1);
    case "last":
      return values.slice(-1);
    case "or":
      if (values.some((value) => value !== "")) return values;
      return argument
        .replace(/^\[|\]$/g, "")
        .split(",")
        .filter((item) => item !== "");
    default:
      return values;
  }
}

/** Returns the path inside a container, where `C:\Users` is `/C/Users`. */
function toContainerPath(path: string): string {
  return /^[A-Za-z]:/.test(path) ? `/${path.replace(":", "").replaceAll("\\", "/")}` : path;
}

function isPlain(value: unknown): boolean {
  return ["string", "number", "boolean"].includes(typeof value);
}
