import { definePlugin, type Gateway, GatewayError, type PluginFactory, type Tool } from "../../core/mod.ts";
import type {} from "../approvals.ts";
import { createHashes } from "../guard/definition.ts";
import type {} from "../state/mod.ts";
import type {} from "../upstreams/mod.ts";
import { CAPABILITIES, capabilitiesHash, readRecord } from "./record.ts";

/** The tools of a server that were approved, as hashes by name. */
type Allowed = ReadonlyMap<string, string>;

/**
 * Holds back tools of a server that was introspected and then approved, unless they are what was approved: a server
 * may say another thing later than on the day that a person looked at it. Other servers are no matter of this.
 */
export const capabilities: PluginFactory<"capabilities"> = definePlugin({
  name: "capabilities",
  needs: ["state", "approvals"],
  setup(gateway) {
    const hashOf = createHashes();
    const known = new Map<string, Allowed | undefined>();
    // By the tool itself, since another one takes its place in the catalog when it is let go.
    const held = new WeakSet<Tool>();
    const hold = (tool: Tool, allowed: Allowed | undefined): void => {
      const reason = whyHeld(tool, allowed, hashOf);
      if (reason === undefined || !tool.enabled) return;
      tool.enabled = false;
      tool.disabledBecause = reason;
      held.add(tool);
    };
    const read = (server: string): Promise<Allowed | undefined> => allowedOf(gateway, server);
    return {
      "tool:discover"(tool) {
        // Of a thousand tools of a server, only the first has to wait.
        if (tool.builtin || known.has(tool.server)) return hold(tool, known.get(tool.server));
        return read(tool.server).then((allowed) => {
          known.set(tool.server, allowed);
          hold(tool, allowed);
        });
      },
      // The next list of a server is looked at with what is approved by then.
      "catalog:change": () => known.clear(),
      async resolve({ toolId }) {
        const tool = gateway.catalog.tool(toolId);
        const server = tool && held.has(tool) && gateway.catalog.server(tool.server);
        if (!tool || !server) return;
        const allowed = await read(tool.server);
        // Approved meanwhile: the tools of the server enter the catalog anew, and are looked at once more.
        if (!whyHeld(tool, allowed, hashOf))
          await gateway.catalog.replace(server, gateway.catalog.tools(server.id));
      },
    };
  },
});

/** What was approved of a server; undefined where it is not one that was introspected. */
async function allowedOf(gateway: Gateway, server: string): Promise<Allowed | undefined> {
  const { state, approvals, upstreams } = gateway.services;
  const origin = upstreams?.status(server)?.config.origin;
  if (origin?.file === undefined || origin.scope !== "config") return undefined;
  const report = (thrown: unknown): undefined => {
    gateway.report(GatewayError.from(thrown, `What was approved of "${server}" could not be read.`));
  };
  // Where records cannot be read, nobody knows which servers have one; they all stand in the person's own config.
  const record = state && (await readRecord(state, server).catch(report));
  const approved = record?.approved;
  // A server of the same name in another file is another one.
  if (!approved || approved.config !== origin.file) return undefined;
  const hash = capabilitiesHash(approved.entry, approved.tools);
  const standing = await approvals?.status(CAPABILITIES, server, hash).catch(report);
  return new Map(standing === "approved" ? approved.tools.map((tool) => [tool.name, tool.hash]) : []);
}

function whyHeld(
  tool: Tool,
  allowed: Allowed | undefined,
  hashOf: (tool: Tool) => string,
): string | undefined {
  if (!allowed || allowed.get(tool.name) === hashOf(tool)) return undefined;
  const what = allowed.has(tool.name)
    ? "Its definition has changed since it was approved"
    : "Nobody has approved it yet";
  return `${what}. Have a look with: toolpipe introspect ${tool.server}, and approve it with: toolpipe approve ${tool.id}`;
}
