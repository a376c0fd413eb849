import { type Gateway, GatewayError } from "../../core/mod.ts";
import type {} from "../approvals.ts";
import type {} from "../guard/mod.ts";
import { approvalOf } from "../upstreams/mod.ts";
import { shownText } from "./watching.ts";

/** Something that waits for a person. */
export interface Pending {
  readonly kind: "server" | "tool";
  readonly name: string;
  /** `changed` if it was another one when it was approved. */
  readonly status: "changed" | "pending";
  /** What is decided on, in words. */
  readonly summary: string;
  /** What is decided on, exactly: whatever it is by then, only this is approved. */
  readonly hash: string;
}

/** What a person decided. */
export interface Decision extends Pick<Pending, "kind" | "name" | "hash"> {
  readonly grant: boolean;
}

/** What waits for a person, and what becomes of it. */
export interface PendingApprovals {
  list(): Promise<readonly Pending[]>;
  decide(decision: Decision): Promise<void>;
}

/** What waits in a gateway: servers that project files define, and tools that the guard holds back. */
export function pendingApprovals(gateway: Gateway): PendingApprovals {
  /** What was refused is held back as before, and no longer asked for. */
  const refused = new Set<string>();

  const all = async (): Promise<readonly Pending[]> => {
    const { approvals, guard, upstreams } = gateway.services;
    const known = (await approvals?.list()) ?? [];
    const servers = (upstreams?.statuses() ?? [])
      .filter(({ status }) => status === "needs-approval")
      .map(({ name, config, reason }): Pending => {
        const { name: place, hash } = approvalOf(config);
        const approval = known.find((one) => one.kind === "server" && one.name === place);
        return {
          kind: "server",
          name,
          status: approval?.approved ? "changed" : "pending",
          summary: shownText(approval?.requested?.summary ?? reason),
          hash,
        };
      });
    const tools = (guard?.waiting() ?? []).map(
      ({ id, status, reason, hash }): Pending => ({
        kind: "tool",
        name: id,
        status,
        summary: shownText(reason),
        hash,
      }),
    );
    return [...servers, ...tools];
  };

  return {
    list: async () => (await all()).filter((one) => !refused.has(keyOf(one))),
    async decide({ grant, ...decision }) {
      const found = (await all()).find((one) => keyOf(one) === keyOf(decision));
      // Only what was shown is decided on: it may be another one by now.
      if (!found) throw gone(decision.name);
      if (!grant) {
        refused.add(keyOf(found));
        return;
      }
      refused.delete(keyOf(found));
      await approve(gateway, found);
    },
  };
}

async function approve({ services }: Gateway, { kind, name, hash }: Pending): Promise<void> {
  if (kind === "tool") {
    await services.guard?.approve(name);
    return;
  }
  const config = services.upstreams?.status(name)?.config;
  if (!config || !services.approvals) throw gone(name);
  await services.approvals.approve("server", approvalOf(config).name, hash);
  // It is connected to in its own time: a server may take long to start.
  void services.upstreams?.recheck(name).catch(() => {});
}

function keyOf({ kind, name, hash }: Pick<Pending, "kind" | "name" | "hash">): string {
  return JSON.stringify([kind, name, hash]);
}

function gone(name: string): GatewayError {
  return new GatewayError(
    "INVALID_ARGUMENTS",
    `"${shownText(name)}" does not wait for approval as it was shown. Look at it again.`,
  );
}
