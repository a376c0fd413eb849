import * as v from "valibot";
import { definePlugin, type Exposure } from "../../core/mod.ts";
import { option } from "../../plugins/lib/options.ts";

const kinds = ["meta", "tools", "both"] as const;
const options = v.strictObject({
  expose: option(
    v.picklist([...kinds, "auto"]),
    "Tools that clients see: those of the gateway (`meta`), those of the servers (`tools`), `both`, or what suits each client by its name (`auto`).",
    "meta",
  ),
  hosts: option(
    v.record(v.string(), v.picklist(kinds)),
    "Exposure by client name where `expose` is `auto`. It goes before the built-in table of clients.",
    {},
  ),
});

/**
 * Exposure of known clients, by the name they send. A client that searches tools itself is better served with the
 * tools: our search behind its own costs a turn. Clients that may not always search get the meta-tools.
 */
const knownHosts: Readonly<Record<string, Exposure>> = {
  // Defers the definitions of MCP tools, and loads them by a search of its own.
  "claude-code": "tools",
  // Gives its model the names alone; the model looks up the rest in files.
  "cursor-vscode": "tools",
  // Searches with some models only; the others would get every definition.
  "Visual Studio Code": "meta",
  "codex-mcp-client": "meta",
  // Not known to search.
  "claude-ai": "meta",
  "gemini-cli-mcp-client": "meta",
};

/**
 * Decides which tools each client sees, by the name the client gives itself: once, on connect, in the legacy protocol;
 * with each request in the modern one, so that equal requests get equal lists. The name needs no proof: every listed
 * tool can also be called through the other tools.
 */
export const exposure = definePlugin({
  name: "exposure",
  uses: [],
  provides: ["exposure"],
  keys: ["expose"],
  options,
  setup(gateway, { expose, hosts }) {
    gateway.provide("exposure", {
      get: (client) => (expose === "auto" ? getHostExposure(client?.name, hosts) : expose),
    });
  },
});

/** Returns the exposure of a client of this name where `expose` is `auto`. */
export function getHostExposure(
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
