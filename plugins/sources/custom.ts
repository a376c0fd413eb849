import { GatewayError, isJsonObject, type JsonObject } from "../../core/mod.ts";
import {
  listEntries,
  type Machine,
  mapEntries,
  place,
  type RawEntry,
  type Reader,
  type Source,
} from "../../core/services/sources.ts";
import { checkDriverFields } from "../lib/driver-choice.ts";
import { resolvePath } from "../lib/server-entry/machine.ts";
import { parseServerJson } from "../lib/server-entry/server-json.ts";
import { clients } from "./clients.ts";

/** Reads a `server.json` of the MCP registry, as published or as the registry's API wraps it. */
const readServerJson: Reader = (data) => {
  const list = Array.isArray(data["servers"]) ? data["servers"] : [data];
  return {
    servers: list.map((item: unknown) => {
      const server = isJsonObject(item) && isJsonObject(item["server"]) ? item["server"] : item;
      return isJsonObject(server) ? parseServerJson(server) : { name: undefined, entry: server };
    }),
  };
};

/** Reads a file that the config names: `servers`, `mcpServers`, or a `server.json`. */
const readCustom: Reader = (data, context) => {
  if (isServerJson(data)) return readServerJson(data, context);
  if (data["servers"] === undefined && data["mcpServers"] === undefined && Object.keys(data).length > 0) {
    throw new GatewayError("CONFIG_INVALID", 'The file has neither "servers" nor "mcpServers".');
  }
  return {
    servers: [
      ...mapEntries(listEntries(data["servers"], "servers"), readDescriptions),
      ...listEntries(data["mcpServers"], "mcpServers"),
    ],
    inputs: data["inputs"],
  };
};

function isServerJson(data: JsonObject): boolean {
  const first = Array.isArray(data["servers"]) ? (data["servers"][0] as unknown) : data;
  const inner = isJsonObject(first) ? (first["server"] ?? first) : undefined;
  return isJsonObject(inner) && (Array.isArray(inner["packages"]) || Array.isArray(inner["remotes"]));
}

/** Reads `name` and `tools` of spec 001, which describe a server and its tools: neither is an id, nor a restriction. */
function readDescriptions(entry: JsonObject, id: unknown): JsonObject {
  const { tools, name } = entry;
  const titled = typeof name === "string" && name !== id ? { title: name, ...entry } : entry;
  const describes = Array.isArray(tools) && tools.every(isJsonObject);
  return describes ? { ...titled, tools: undefined, declaredTools: tools } : titled;
}

/** Formats of files that the config names, besides those of the clients. */
export const formats: readonly Source[] = [
  { name: "custom", read: readCustom, locations: () => [] },
  { name: "server-json", read: readServerJson, locations: () => [] },
];

/** A source that the config names. */
export interface FileOption {
  /** Name of a client, `custom`, `server-json`, or the name or module path of another source. */
  readonly type: string;
  /** The file to read. A source that knows its files needs none. */
  readonly path?: string | undefined;
}

/** Creates a source of the file that the config names. */
export function fileSource({ type, path }: FileOption, own?: Source): Source {
  if (own) checkDriverFields("source", type, own, sourceFields);
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
      const file = resolvePath(path, machine);
      return [{ scope: "config", ...(source.at?.(file) ?? { places: [place(file)] }) }];
    },
  };
}

/** Fields that a source of a user's module must have. */
const sourceFields = { name: "string", locations: "function", read: "function" } as const;

/** Creates the source of the servers in the config itself. */
export function inlineSource(servers: unknown, mcpServers: unknown, file?: string): Source {
  const entries: readonly RawEntry[] = [
    ...mapEntries(listEntries(servers, "servers"), readDescriptions),
    ...listEntries(mcpServers, "mcpServers"),
  ];
  return { name: "inline", read: readCustom, locations: () => [], entries, file };
}
