import * as v from "valibot";
import { GatewayError, type JsonObject } from "../../core/mod.ts";
import type { ApprovalStatus, Approvals } from "../../core/services/approvals.ts";
import { readState, type StateStore, updateState } from "../../core/services/state.ts";

/** The part of {@link Approvals} that needs a store and no gateway. */
export type ApprovalStore = Pick<Approvals, "status" | "request" | "approve" | "revoke" | "list">;

const PREFIX = "approvals/";
const MAX_SUMMARY = 1_000;

const definition = v.object({ hash: v.string(), summary: v.string(), at: v.string() });
const record = v.object({
  kind: v.string(),
  name: v.string(),
  approved: v.optional(definition),
  requested: v.optional(definition),
});

/** A damaged record approves nothing, and the next decision replaces it. */
const NOT_APPROVED = {};

type Record = v.InferOutput<typeof record>;

/** Creates the approvals in a store. An approval holds for one hash: any change of the definition needs a new one. */
export function createApprovalStore(store: StateStore): ApprovalStore {
  const update = async (
    kind: string,
    name: string,
    change: (now: Record) => Record | undefined,
  ): Promise<void> => {
    await updateState(
      store,
      toKey(kind, name),
      (value) => change(parse(value) ?? { kind, name }) as JsonObject,
      NOT_APPROVED,
    );
  };

  return {
    async status(kind, name, hash) {
      const { approved } = parse(await readState(store, toKey(kind, name), NOT_APPROVED)) ?? {};
      if (!approved) return "pending";
      return approved.hash === hash ? "approved" : "changed";
    },

    async request(kind, name, hash, summary) {
      checkHash(hash);
      const requested = { hash, summary: cleanSummary(summary), at: new Date().toISOString() };
      await update(kind, name, ({ requested: before, ...now }) => {
        if (now.approved?.hash === hash) return before && now;
        return before?.hash === hash && before.summary === requested.summary
          ? undefined
          : { ...now, requested };
      });
    },

    async approve(kind, name, hash) {
      checkHash(hash);
      await update(kind, name, ({ requested, ...now }) => {
        const isRequested = requested?.hash === hash;
        const known = isRequested ? requested : now.approved?.hash === hash ? now.approved : undefined;
        const approved = { hash, summary: known?.summary ?? "", at: new Date().toISOString() };
        return isRequested || !requested ? { ...now, approved } : { ...now, approved, requested };
      });
    },

    revoke: (kind, name) => store.delete(toKey(kind, name)),

    async list() {
      const entries = await store.list(PREFIX);
      return entries.flatMap(({ key, value }) => {
        const found = parse(value);
        // A record under a key other than its own was written by another program.
        return found && toKey(found.kind, found.name) === key ? [{ ...found, status: toStatus(found) }] : [];
      });
    },
  };
}

/** JSON, so that no two pairs give the same key. */
function toKey(kind: string, name: string): string {
  return `${PREFIX}${JSON.stringify([kind, name])}`;
}

function parse(value: JsonObject | undefined): Record | undefined {
  const parsed = v.safeParse(record, value);
  return parsed.success ? parsed.output : undefined;
}

function toStatus({ approved, requested }: Record): ApprovalStatus {
  if (!approved) return "pending";
  return requested ? "changed" : "approved";
}

function checkHash(hash: string): void {
  // An empty hash would approve every definition that could not be hashed.
  if (typeof hash !== "string" || hash === "") {
    throw new GatewayError("INTERNAL", "An approval needs the hash of the definition that is approved.");
  }
}

/** Summaries come from files that a stranger may have written, and are printed on a terminal. */
function cleanSummary(summary: string): string {
  // Strings only: a definition passed by mistake would bring its variables and headers with it.
  if (typeof summary !== "string") {
    throw new GatewayError("INTERNAL", "The summary of an approval must be a string.");
  }
  const text = summary.replace(/[\p{Cc}\p{Cf}\p{Z}]+/gu, " ").trim();
  if (text.length <= MAX_SUMMARY) return text;
  // Both ends and the number of characters left out: an attacker would hide a part behind something long.
  const half = MAX_SUMMARY / 2;
  return `${text.slice(0, half)} … (${text.length - MAX_SUMMARY} more characters) … ${text.slice(-half)}`;
}
