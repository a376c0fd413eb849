import { definePlugin, type Gateway, GatewayError, type Tool } from "../../../core/mod.ts";
import type { ApprovalKind, HeldTool } from "../../../core/services/approvals.ts";
import type { StateStore } from "../../../core/services/state.ts";
import { createToolHasher } from "../../lib/hash.ts";
import { quoteForShell } from "../../lib/terminal/output.ts";
import { CAPABILITY_EDITED } from "../errors.ts";
import {
  CAPABILITIES,
  type CapabilityRecord,
  capabilitiesHash,
  listRecords,
  readCapabilityRecord,
} from "./record.ts";
import type { ApprovalParts } from "./request-approval.ts";

/** Approved tools of a server: hashes by name. */
type Allowed = ReadonlyMap<string, string>;

/** Finds the record of a server, if it has one. */
type FindRecord = (store: StateStore, server: string) => Promise<CapabilityRecord | undefined>;

/** The tools of many servers enter together, above all at start: they share one read of the records. */
const SHARED_READ_MS = 250;

/**
 * Holds back tools of a server that was introspected and approved, unless their definitions are the approved ones: a
 * server may define them differently later. Tools of other servers are not affected.
 */
export const capabilities = definePlugin({
  name: "capabilities",
  uses: ["state", "approvals", "servers?"],
  errors: { CAPABILITY_EDITED },
  setup(gateway) {
    const { approvals, state } = gateway.services;
    const hashTool = createToolHasher();
    const known = new Map<string, Allowed | undefined>();
    const records = createRecordReader();
    approvals.gateTools((tool, isCalled) => {
      // Of a thousand tools of a server, only the first waits.
      if (!isCalled && known.has(tool.server)) return findHoldReason(tool, known.get(tool.server), hashTool);
      if (isCalled) records.forget();
      return findAllowed(gateway, tool.server, isCalled ? readCapabilityRecord : records.find).then(
        (allowed) => {
          if (!isCalled) known.set(tool.server, allowed);
          return findHoldReason(tool, allowed, hashTool);
        },
      );
    });
    gateway.register("approval", CAPABILITIES, lazyKind(gateway, { store: state, approvals }));
    return {
      // The next list of a server is judged by what is approved then.
      "catalog:change": () => known.clear(),
    };
  },
});

/** Loads the kind with its file handling when it is first used: a gateway that is served rarely needs it. */
function lazyKind(gateway: Gateway, parts: ApprovalParts): ApprovalKind {
  const load = async (): Promise<ApprovalKind> => {
    const { createCapabilityApprovals } = await import("./capability-approvals.ts");
    return createCapabilityApprovals(gateway, parts);
  };
  return {
    // The usual case is that no server was introspected.
    pending: async () => ((await listRecords(parts.store)).length > 0 ? (await load()).pending() : []),
    approve: async (items, options) => (await load()).approve(items, options),
    revoke: async (id) =>
      (await readCapabilityRecord(parts.store, id)) ? (await load()).revoke(id) : undefined,
  };
}

function createRecordReader(): { readonly find: FindRecord; forget(): void } {
  let records: Promise<readonly CapabilityRecord[]> | undefined;
  const forget = (): void => {
    records = undefined;
  };
  return {
    async find(store, server) {
      if (!records) {
        records = listRecords(store);
        setTimeout(forget, SHARED_READ_MS).unref?.();
      }
      return (await records).find((record) => record.server === server);
    },
    forget,
  };
}

/** Finds the approved tools of a server; undefined if it was not introspected. */
async function findAllowed(gateway: Gateway, server: string, find: FindRecord): Promise<Allowed | undefined> {
  const { state, approvals, servers } = gateway.services;
  const origin = servers?.status(server)?.config.origin;
  if (origin?.file === undefined || origin.scope !== "config") return undefined;
  const report = (thrown: unknown): undefined => {
    gateway.report(GatewayError.from(thrown, `The approved tools of "${server}" could not be read.`));
  };
  // Without its record, a server counts as not introspected: it is in the user's own config.
  const record = state && (await find(state, server).catch(report));
  const approved = record?.approved;
  // A server of the same name in another file is another one.
  if (!approved || approved.config !== origin.file) return undefined;
  const hash = capabilitiesHash(approved.entry, approved.tools);
  const status = await approvals?.status(CAPABILITIES, server, hash).catch(report);
  return new Map(status === "approved" ? approved.tools.map((tool) => [tool.name, tool.hash]) : []);
}

function findHoldReason(
  tool: Tool,
  allowed: Allowed | undefined,
  hashTool: (tool: Tool) => string,
): Omit<HeldTool, "tool"> | undefined {
  if (!allowed) return undefined;
  const hash = hashTool(tool);
  if (allowed.get(tool.name) === hash) return undefined;
  const isChanged = allowed.has(tool.name);
  const what = isChanged
    ? "Its definition has changed since it was approved"
    : "It has not been approved yet";
  return {
    status: isChanged ? "changed" : "pending",
    hash,
    reason: `${what}. Look at it with: toolpipe introspect ${quoteForShell(tool.server)}, and approve it with: toolpipe approve ${quoteForShell(tool.id)}`,
  };
}
