import { dirname, join } from "node:path";
import { isJsonObject, type JsonObject } from "../../core/mod.ts";
import {
  entriesIn,
  type Location,
  objectAt,
  place,
  type RawEntry,
  type Reader,
  type Source,
} from "../../core/services/sources.ts";
import { dockerTemplate, dockerTemplates } from "./docker-template.ts";

/** The servers a person has switched on, by what the catalogs say of them. */
const switchedOn: Reader = (data, { beside }) => {
  const catalogs = (beside["catalogs"] ?? []).map((catalog) => objectAt(catalog, "registry"));
  const settings = Object.assign(
    {},
    ...(beside["config"] ?? []).map((config) => objectAt(config)),
  ) as JsonObject;
  const tools = Object.assign({}, ...(beside["tools"] ?? []).map((file) => objectAt(file))) as JsonObject;
  return {
    servers: entriesIn(data["registry"], "registry").map(({ name, entry }): RawEntry => {
      const key = String(name);
      const found = catalogs.find((catalog) => isJsonObject(catalog[key]) && Object.hasOwn(catalog, key));
      if (!found) return { name, entry, reason: "no catalog on this computer describes it" };
      const own = { ...objectAt(settings, key), ...objectAt(entry, "config") };
      return fromCatalog(key, objectAt(found, key), { ...settings, [key]: own }, tools[key]);
    }),
  };
};

function fromCatalog(name: string, server: JsonObject, settings: JsonObject, allowed: unknown): RawEntry {
  const { description, image, type } = server;
  const common = { description, ...(Array.isArray(allowed) && { tools: allowed }) };
  const remote = objectAt(server, "remote");
  const url = remote["url"] ?? server["sseEndpoint"];
  if (typeof url === "string" && url !== "") {
    const transport = remote["transport_type"] ?? (remote["url"] === undefined ? "sse" : undefined);
    return { name, entry: { ...common, type: transport, url, headers: remote["headers"] } };
  }
  if (type === "poci")
    return { name, entry: server, reason: "it is a container for each tool, and not a server" };
  // One that begins with a dash would be an option to Docker.
  if (typeof image !== "string" || !/^\w/.test(image))
    return { name, entry: server, reason: "its catalog names no image" };
  const env = variablesOf(server, settings);
  const args = [
    ...["run", "-i", "--rm", "--init", "--security-opt", "no-new-privileges"],
    ...(server["disableNetwork"] === true ? ["--network", "none"] : []),
    // Docker takes the values from its own environment: on the command line, everyone could read them.
    ...Object.keys(env).flatMap((variable) => ["-e", variable]),
    ...dockerTemplates(server["volumes"], settings).flatMap((volume) => ["-v", volume]),
    image,
    ...dockerTemplates(server["command"], settings),
  ];
  return { name, entry: { ...common, command: "docker", args, env } };
}

/** Secrets are in a keychain that only Docker can open, so they are asked of the environment. */
function variablesOf(server: JsonObject, settings: JsonObject): Record<string, string> {
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
    const filled = dockerTemplate(String(value), settings).join(",");
    if (filled !== "") env.push([name, filled]);
  }
  return Object.fromEntries(env);
}

/** The toolkit's own files, which lie in one folder. */
function toolkit(folder: string): Omit<Location, "scope"> {
  return {
    places: [place(folder, "registry.yaml")],
    read: switchedOn,
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
  read: (data) => ({ servers: entriesIn(data["mcpServers"], "mcpServers") }),
  at: (file) =>
    /registry\.ya?ml$/.test(file)
      ? { ...toolkit(dirname(file)), places: [place(file)] }
      : { places: [place(file)] },
  locations: ({ home }) => [
    { scope: "user", places: [place(home, ".docker", "mcp-servers.json")] },
    { scope: "user", ...toolkit(join(home, ".docker", "mcp")) },
  ],
};
