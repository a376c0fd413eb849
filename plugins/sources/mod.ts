/**
 * The servers a person already has: read from the files of the clients they use, from files they name, and from
 * the config.
 *
 * @module
 */
import * as v from "valibot";
import { definePlugin, type PluginFactory } from "../../core/mod.ts";
import type { Machine, Source } from "../../core/services/sources.ts";
import { thisMachine } from "../lib/server-entry/machine.ts";
import { clientNames, clients } from "./clients.ts";
import { collect } from "./collect.ts";
import { type FileOption, fileSource, formats, inlineSource } from "./custom.ts";

export type {
  Collected,
  CollectedFile,
  CollectOptions,
  Dialect,
  Entries,
  Location,
  Machine,
  Place,
  RawEntry,
  ReadContext,
  Reader,
  Source,
  Sources,
  SourceWarning,
} from "../../core/services/sources.ts";
export {
  type Connection,
  definitionHash,
  type HttpConnection,
  type OAuthClient,
  type Origin,
  type Scope,
  type ServerConfig,
  type StdioConnection,
} from "../../core/services/sources.ts";
export { expandConnection } from "../lib/server-entry/expand.ts";
export { thisMachine } from "../lib/server-entry/machine.ts";
export {
  type Answers,
  fromServerJson,
  type NeedKind,
  type ServerJsonOptions,
  type ServerNeed,
} from "../lib/server-entry/server-json.ts";
export { clientNames, clients } from "./clients.ts";
export { collect } from "./collect.ts";
export { type FileOption, fileSource, inlineSource } from "./custom.ts";

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
      v.pipe(
        v.strictObject({
          type: v.union(
            [v.picklist(fileTypes), v.pipe(v.string(), v.regex(/[./]/))],
            'the name of a client, "custom", "server-json", or the path of a source',
          ),
          path: v.optional(v.pipe(v.string(), v.minLength(1, "a path"))),
        }),
        v.forward(
          v.check(({ type, path }) => path !== undefined || !fileTypes.includes(type), "a path"),
          ["path"],
        ),
      ),
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
  uses: [],
  provides: ["sources"],
  keys: ["servers", "mcpServers", "sources"],
  options: options as v.GenericSchema<SourcesOptions, Chosen>,
  setup(gateway, { clients: chosen, sources: files, servers, mcpServers, machine }) {
    const inline = inlineSource(servers, mcpServers, gateway.configFile);
    const chosenClients = clients.filter(({ name }) => chosen === "all" || chosen.includes(name));
    let loading: Promise<readonly Source[]> | undefined;
    const loadNamed = (): Promise<readonly Source[]> => {
      loading ??= Promise.all(
        files.map(async (file) =>
          fileSource(
            file,
            fileTypes.includes(file.type) ? undefined : await gateway.driver("source", file.type),
          ),
        ),
      );
      return loading;
    };
    gateway.provide("sources", {
      async collect(collectOptions) {
        const registered = gateway.drivers("source").values();
        const all = [inline, ...(await loadNamed()), ...registered, ...chosenClients];
        return collect(all, machine ?? thisMachine(), collectOptions);
      },
    });
    // A module that cannot be loaded ends the start.
    return {
      async ready() {
        await loadNamed();
      },
    };
  },
});
