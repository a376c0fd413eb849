/**
 * Approvals: definitions of servers, tools and capabilities that the user has to approve before they are used.
 *
 * @module
 */
import { definePlugin, type PluginFactory } from "../../core/mod.ts";
import {
  type ApprovalKind,
  type PendingApproval,
  TOOL_CHANGED,
  TOOL_PENDING,
} from "../../core/services/approvals.ts";
import { createApprovalStore } from "./store.ts";
import { createToolGates } from "./tool-gates.ts";

export { type ApprovalStore, createApprovalStore } from "./store.ts";

/** Stores approvals, lists what waits over all kinds, and holds tools back until they are approved. */
export const approvals: PluginFactory<"approvals"> = definePlugin({
  name: "approvals",
  // First, so that a tool is judged as its server defines it.
  order: "pre",
  uses: ["state"],
  provides: ["approvals"],
  errors: { TOOL_CHANGED, TOOL_PENDING },
  setup(gateway) {
    const gates = createToolGates(gateway);
    const kinds = gateway.drivers("approval");
    /** Refused items by {@link toKey}; a changed definition has another hash, and is listed again. */
    const refused = new Set<string>();

    const listKinds = (): [name: string, kind: ApprovalKind][] =>
      [...kinds].toSorted(([a], [b]) => (a < b ? -1 : 1));
    const listAll = async (only?: string): Promise<readonly PendingApproval[]> => {
      const items: PendingApproval[] = [];
      for (const [name, kind] of listKinds()) {
        if (only === undefined || name === only) items.push(...(await kind.pending()));
      }
      return items;
    };

    gateway.provide("approvals", {
      ...createApprovalStore(gateway.services.state),
      gateTools: gates.add,
      pending: async (kind) => (await listAll(kind)).filter((item) => !refused.has(toKey(item))),
      async decide(id, grant, { kind, hash, config } = {}) {
        const found = (await listAll(kind)).filter(
          (item) => isMeant(item, id) && (hash === undefined || item.hash === hash),
        );
        const [first] = found;
        if (!first) return [];
        const items = found.filter((item) => item.kind === first.kind);
        for (const item of items) grant ? refused.delete(toKey(item)) : refused.add(toKey(item));
        if (!grant) return items;
        const part = id.startsWith(`${first.id}:`) ? id.slice(first.id.length + 1) : undefined;
        return (await kinds.get(first.kind)?.approve(items, { part, config })) ?? [];
      },
      async withdraw(id) {
        for (const [, kind] of listKinds()) {
          const name = await kind.revoke(id);
          if (name !== undefined) return name;
        }
        return undefined;
      },
    });
    return gates.hooks;
  },
});

/** An id names an item, a part of one, or the server of tools. */
function isMeant({ id, parts = [] }: PendingApproval, given: string): boolean {
  return id === given || id.startsWith(`${given}:`) || parts.some((part) => given === `${id}:${part}`);
}

function toKey({ kind, id, hash }: PendingApproval): string {
  return JSON.stringify([kind, id, hash]);
}
