import * as v from "valibot";
import { definePlugin, type Exposure, type PluginFactory } from "../core/mod.ts";
import type {} from "../core/services/clients.ts";

/** The options of the plugin `exposure`. */
export interface ExposureOptions {
  /**
   * What clients see: the gateway's own tools, those of the servers themselves, both, or whichever is right for each of
   * them by its name; `meta` by default, as the specifications have it.
   */
  readonly expose?: Exposure | "auto";
  /** What clients of these names see where `expose` is `auto`; it goes before what is known of them. */
  readonly hosts?: Readonly<Record<string, Exposure>>;
}

const kinds = ["meta", "tools", "both"] as const;
const options = v.strictObject({
  expose: v.optional(v.picklist([...kinds, "auto"]), "meta"),
  hosts: v.optional(v.record(v.string(), v.picklist(kinds)), {}),
});

/**
 * What is known of clients, by what they call themselves. One that searches tools itself is better served with the tools:
 * a search of ours behind a search of its own costs a turn. Where it is not certain that it always does, it is not done.
 */
export const knownHosts: Readonly<Record<string, Exposure>> = {
  // Defers the definitions of MCP tools, and loads them by a search of its own.
  "claude-code": "tools",
  // Gives its model the names alone, and has it look up the rest in files.
  "cursor-vscode": "tools",
  // Has a search of its own, with some models; the others would get every definition.
  "Visual Studio Code": "meta",
  "codex-mcp-client": "meta",
  // Nothing certain is known of these.
  "claude-ai": "meta",
  "gemini-cli-mcp-client": "meta",
};

/**
 * Decides what each client sees. It goes by the name that the client gives itself: in the older era once, when it
 * connects, and in the newer one with each request, so that the same request always gets the same list. A name is not
 * proven, and need not be: everything that is listed can be called through the other tools as well.
 */
export const exposure: PluginFactory<"exposure", ExposureOptions, Required<ExposureOptions>> = definePlugin({
  name: "exposure",
  uses: [],
  provides: ["exposure"],
  keys: ["expose"],
  options: options as v.GenericSchema<ExposureOptions, Required<ExposureOptions>>,
  setup(gateway, { expose, hosts }) {
    gateway.provide("exposure", {
      get: (client) => (expose === "auto" ? hostExposure(client?.name, hosts) : expose),
    });
  },
});

/** What a client of this name sees where it decides. */
export function hostExposure(
  name: string | undefined,
  hosts: Readonly<Record<string, Exposure>> = {},
): Exposure {
  // A bridge between two transports adds its own name.
  const plain = (name ?? "").replace(/ \(via [^()]*\)$/, "");
  for (const table of [hosts, knownHosts]) {
    if (Object.hasOwn(table, plain)) return table[plain] as Exposure;
  }
  return "meta";
}
