import { definePlugin, type Gateway, GatewayError, type PluginFactory, type Tool } from "../../core/mod.ts";
import type {} from "../approvals.ts";
import { createHashes } from "../guard/definition.ts";
import type { StateStore } from "../state/mod.ts";
import type {} from "../upstreams/mod.ts";
import { CAPABILITIES, type CapabilityRecord, capabilitiesHash, listRecords, readRecord } from "./record.ts";

/** The tools of a server that were approved, as hashes by name. */
type Allowed = ReadonlyMap<string, string>;

/** Finds the record of a server, where it has one. */
type FindRecord = (store: StateStore, server: string) => Promise<CapabilityRecord | undefined>;

/** The tools of many servers come in together, above all at a start: one look at the records is enough for them. */
const MOMENT_MS = 250;

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
    const moment = recordsOfTheMoment();
    return {
      "tool:discover"(tool) {
        // Of a thousand tools of a server, only the first has to wait.
        if (tool.builtin || known.has(tool.server)) return hold(tool, known.get(tool.server));
        return allowedOf(gateway, tool.server, moment.find).then((allowed) => {
          known.set(tool.server, allowed);
          hold(tool, allowed);
        });
      },
      // The next list of a server is looked at with what is approved by then.
      "catalog:change": () => known.clear(),
      resolve({ toolId }) {
        const tool = gateway.catalog.tool(toolId);
        return tool && held.has(tool) ? lookAgain(tool) : undefined;
      },
    };

    /** Where it was approved meanwhile, the tools of its server enter the catalog anew, and are looked at once more. */
    async function lookAgain(tool: Tool): Promise<void> {
      const server = gateway.catalog.server(tool.server);
      if (!server || whyHeld(tool, await allowedOf(gateway, tool.server, readRecord), hashOf)) return;
      moment.end();
      await gateway.catalog.replace(server, gateway.catalog.tools(server.id));
    }
  },
});

function recordsOfTheMoment(): { readonly find: FindRecord; end(): void } {
  let records: Promise<readonly CapabilityRecord[]> | undefined;
  const end = (): void => {
    records = undefined;
  };
  return {
    async find(store, server) {
      if (!records) {
        records = listRecords(store);
        setTimeout(end, MOMENT_MS).unref?.();
      }
      return (await records).find((record) => record.server === server);
    },
    end,
  };
}

/** What was approved of a server; undefined where it is not one that was introspected. */
async function allowedOf(gateway: Gateway, server: string, find: FindRecord): Promise<Allowed | undefined> {
  const { state, approvals, upstreams } = gateway.services;
  const origin = upstreams?.status(server)?.config.origin;
  if (origin?.file === undefined || origin.scope !== "config") return undefined;
  const report = (thrown: unknown): undefined => {
    gateway.report(GatewayError.from(thrown, `What was approved of "${server}" could not be read.`));
  };
  // Where records cannot be read, nobody knows which servers have one; they all stand in the person's own config.
  const record = state && (await find(state, server).catch(report));
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
