/**
 * The servers a person already has: read from the files of the clients they use, from files they name, and from
 * the config.
 *
 * @module
 */
import * as v from "valibot";
import { definePlugin, type PluginFactory } from "../../core/mod.ts";
import { clientNames, clients } from "./clients.ts";
import { type Collected, type CollectOptions, collect } from "./collect.ts";
import { type FileOption, fileSource, formats, inlineSource } from "./custom.ts";
import { type Machine, thisMachine } from "./machine.ts";
import type { Source } from "./source.ts";

export type { SourceWarning } from "./choose.ts";
export { clientNames, clients } from "./clients.ts";
export {
  type Collected,
  type CollectedFile,
  type CollectOptions,
  collect,
} from "./collect.ts";
export { type FileOption, fileSource, inlineSource } from "./custom.ts";
export { expandConnection } from "./expand.ts";
export { type Machine, thisMachine } from "./machine.ts";
export {
  type Connection,
  definitionHash,
  type HttpConnection,
  type OAuthClient,
  type Origin,
  type Scope,
  type ServerConfig,
  type StdioConnection,
} from "./server-config.ts";
export {
  type Answers,
  fromServerJson,
  type NeedKind,
  type ServerJsonOptions,
  type ServerNeed,
} from "./server-json.ts";
export type { Dialect, Entries, Location, Place, RawEntry, ReadContext, Reader, Source } from "./source.ts";

/** The sources of a gateway. */
export interface Sources {
  /** Reads all of them anew. Never rejects. */
  collect(options?: CollectOptions): Promise<Collected>;
}

declare module "../../core/gateway.ts" {
  interface Services {
    /** Offered by the plugin `sources`. */
    sources?: Sources;
  }
}

/** The options of {@link sources}. */
export interface SourcesOptions {
  /** The clients whose servers are imported, by name; none by default, since a program should not start what a person has. */
  readonly clients?: "all" | readonly string[];
  /** Files to read besides those of the clients. */
  readonly sources?: readonly FileOption[];
  /** Servers as spec 001 lists them: `{ name, description, connection }`. */
  readonly servers?: readonly { readonly name: string; readonly [key: string]: unknown }[];
  /** Servers by name, as most clients have them. */
  readonly mcpServers?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** The computer to look at, for tests; this one by default. */
  readonly machine?: Machine;
}

const fileTypes = [...clientNames, ...formats.map((format) => format.name)];
const options = v.strictObject({
  clients: v.optional(v.union([v.literal("all"), v.array(v.picklist(clientNames))]), []),
  sources: v.optional(
    v.array(
      v.strictObject({ type: v.picklist(fileTypes), path: v.pipe(v.string(), v.minLength(1, "a path")) }),
    ),
    [],
  ),
  servers: v.optional(v.array(v.looseObject({ name: v.string() })), []),
  mcpServers: v.optional(v.record(v.string(), v.looseObject({})), {}),
  machine: v.optional(
    v.custom<Machine>((value) => typeof (value as Partial<Machine> | null)?.home === "string", "a machine"),
  ),
});

type Chosen = Required<Omit<SourcesOptions, "machine">> & Pick<SourcesOptions, "machine">;

/** Lets other plugins collect every server there is. What the config says comes before what clients say. */
export const sources: PluginFactory<"sources", SourcesOptions, Chosen> = definePlugin({
  name: "sources",
  keys: ["servers", "mcpServers", "sources"],
  options: options as v.GenericSchema<SourcesOptions, Chosen>,
  setup(gateway, { clients: chosen, sources: files, servers, mcpServers, machine }) {
    const all: readonly Source[] = [
      inlineSource(servers, mcpServers, gateway.configFile),
      ...files.map(fileSource),
      ...clients.filter(({ name }) => chosen === "all" || chosen.includes(name)),
    ];
    gateway.services.sources = {
      collect: (collectOptions) => collect(all, machine ?? thisMachine(), collectOptions),
    };
  },
});
