import { GatewayError, isJsonObject, type JsonObject } from "../../core/mod.ts";
import type { Machine } from "../../core/services/sources.ts";
import {
  entriesIn,
  mapEntries,
  place,
  type RawEntry,
  type Reader,
  type Source,
} from "../../core/services/sources.ts";
import { pathFrom } from "../lib/server-entry/machine.ts";
import { fromServerJson } from "../lib/server-entry/server-json.ts";
import { clients } from "./clients.ts";

/** A `server.json` of the MCP registry, as published or as the registry's API wraps it. */
const registryServers: Reader = (data) => {
  const list = Array.isArray(data["servers"]) ? data["servers"] : [data];
  return {
    servers: list.map((item: unknown) => {
      const server = isJsonObject(item) && isJsonObject(item["server"]) ? item["server"] : item;
      return isJsonObject(server) ? fromServerJson(server) : { name: undefined, entry: server };
    }),
  };
};

/** Every form there is for a file that a person names: `servers`, `mcpServers`, or a `server.json`. */
const customServers: Reader = (data, context) => {
  if (isOfRegistry(data)) return registryServers(data, context);
  if (data["servers"] === undefined && data["mcpServers"] === undefined && Object.keys(data).length > 0) {
    throw new GatewayError("CONFIG_INVALID", 'It holds neither "servers" nor "mcpServers".');
  }
  return {
    servers: [
      ...mapEntries(entriesIn(data["servers"], "servers"), withoutDescriptions),
      ...entriesIn(data["mcpServers"], "mcpServers"),
    ],
    inputs: data["inputs"],
  };
};

function isOfRegistry(data: JsonObject): boolean {
  const first = Array.isArray(data["servers"]) ? (data["servers"][0] as unknown) : data;
  const inner = isJsonObject(first) ? (first["server"] ?? first) : undefined;
  return isJsonObject(inner) && (Array.isArray(inner["packages"]) || Array.isArray(inner["remotes"]));
}

/** In spec 001's own form, `tools` describes the tools of a server and does not restrict them. */
function withoutDescriptions(entry: JsonObject): JsonObject {
  const { tools } = entry;
  return Array.isArray(tools) && tools.every(isJsonObject) ? { ...entry, tools: undefined } : entry;
}

/** The formats a person can name a file by, besides the clients. */
export const formats: readonly Source[] = [
  { name: "custom", read: customServers, locations: () => [] },
  { name: "server-json", read: registryServers, locations: () => [] },
];

/** A source that the config names. */
export interface FileOption {
  /** The name of a client, `custom`, `server-json`, or the name or module path of a source of one's own. */
  readonly type: string;
  /** The file to read. A source of one's own that knows where its files are needs none. */
  readonly path?: string | undefined;
}

/** Returns the source that the config names, built-in or given, for the file that it names. */
export function fileSource({ type, path }: FileOption, own?: Source): Source {
  const source = own ?? [...clients, ...formats].find((candidate) => candidate.name === type);
  if (!source) throw new GatewayError("CONFIG_INVALID", `There is no source "${type}".`);
  if (path === undefined) {
    if (own) return own;
    throw new GatewayError("CONFIG_INVALID", `The source "${type}" needs a "path": the file to read.`);
  }
  return {
    name: source.name,
    ...(source.dialect && { dialect: source.dialect }),
    read: source.read,
    locations(machine: Machine) {
      const file = pathFrom(path, machine);
      return [{ scope: "config", ...(source.at?.(file) ?? { places: [place(file)] }) }];
    },
  };
}

/** The source of the servers that stand in the config itself. */
export function inlineSource(servers: unknown, mcpServers: unknown, file?: string): Source {
  const entries: readonly RawEntry[] = [
    ...mapEntries(entriesIn(servers, "servers"), withoutDescriptions),
    ...entriesIn(mcpServers, "mcpServers"),
  ];
  return { name: "inline", read: customServers, locations: () => [], entries, file };
}
