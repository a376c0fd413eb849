/**
 * Sources of servers: the files of the user's MCP clients, files that the config names, and the config itself.
 *
 * @module
 */
import * as v from "valibot";
import { definePlugin } from "../../core/mod.ts";
import type { Machine, Source } from "../../core/services/sources.ts";
import { option, trueOrFalse } from "../lib/options.ts";
import { thisMachine } from "../lib/server-entry/machine.ts";
import { clientNames, clients } from "./clients.ts";
import { collect } from "./collect.ts";
import { fileSource, formats, inlineSource } from "./custom.ts";

export type { Collected, Machine, ServerConfig } from "../../core/services/sources.ts";
export { thisMachine } from "../lib/server-entry/machine.ts";
export {
  type InputAnswers,
  type NeedKind,
  parseServerJson,
  type ServerJsonOptions,
  type ServerNeed,
} from "../lib/server-entry/server-json.ts";
export { clientNames, clients } from "./clients.ts";
export { collect } from "./collect.ts";
export { type FileOption, fileSource, inlineSource } from "./custom.ts";

const fileTypes = [...clientNames, ...formats.map((format) => format.name)];
const typeNames = 'the name of a client, "custom", "server-json", or the path of a source';
const fileOption = v.pipe(
  v.strictObject({
    type: v.pipe(
      v.union([v.picklist(fileTypes), v.pipe(v.string(), v.regex(/[./]/, typeNames))], typeNames),
      v.description(
        "Format of the file: a client by name, `custom`, `server-json`, or the module path of a source.",
      ),
    ),
    path: option(
      v.pipe(v.string(), v.minLength(1, "a path")),
      "The file to read. A source from a module may know its files, and then needs none.",
    ),
  }),
  v.forward(
    v.check(({ type, path }) => path !== undefined || !fileTypes.includes(type), "a path"),
    ["path"],
  ),
);
const switches = {
  enabled: option(trueOrFalse, "Whether the server is used; true if it is left out."),
  disabled: option(trueOrFalse, "Whether the server is left out, as some clients write it."),
};
const options = v.strictObject({
  clients: option(
    v.union([v.literal("all"), v.array(v.picklist(clientNames))]),
    "Clients whose servers are imported, by name, or `all`.",
    [],
  ),
  sources: option(v.array(fileOption), "Files to read besides those of the clients.", []),
  servers: option(
    v.array(v.looseObject({ name: v.pipe(v.string(), v.description("Id of the server.")), ...switches })),
    "Servers as spec 001 lists them: `{ name, description, connection }`.",
    [],
  ),
  mcpServers: option(
    v.record(v.string(), v.looseObject(switches)),
    "Servers by name, in the format of most clients.",
    {},
  ),
  machine: option(
    v.custom<Machine>((value) => typeof (value as Partial<Machine> | null)?.home === "string", "a machine"),
    "Computer to read from, for tests.",
  ),
});

/** Options for the sources plugin. */
export type SourcesOptions = v.InferInput<typeof options>;

/** Collects the servers of all sources for other plugins. Those of the config come before those of clients. */
export const sources = definePlugin({
  name: "sources",
  uses: [],
  provides: ["sources"],
  keys: ["servers", "mcpServers", "sources"],
  options,
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
