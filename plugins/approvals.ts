import * as v from "valibot";
import { definePlugin, GatewayError, type JsonObject, type PluginFactory } from "../core/mod.ts";
import { type StateStore, updateState } from "./state/mod.ts";

/** Where an approval stands: given to this very definition, given to another one, or never given. */
export type ApprovalStatus = "approved" | "changed" | "pending";

/** A definition, by its hash. */
export interface ApprovalDefinition {
  readonly hash: string;
  /** What a person is shown of it. */
  readonly summary: string;
  /** When, as an ISO date. */
  readonly at: string;
}

/** What is known of one name. */
export interface Approval {
  /** What sort of thing it is: `server`, `tool`, … */
  readonly kind: string;
  /** Its name among its kind. Two things of one name take each other for changed, so it must tell them apart. */
  readonly name: string;
  /** `changed` if another definition than the approved one waits. */
  readonly status: ApprovalStatus;
  /** The definition that was approved. */
  readonly approved?: ApprovalDefinition | undefined;
  /** The definition that waits for approval. */
  readonly requested?: ApprovalDefinition | undefined;
}

/** What a person has allowed. */
export interface Approvals {
  /** Where this definition stands. */
  status(kind: string, name: string, hash: string): Promise<ApprovalStatus>;
  /**
   * Notes that a definition waits for approval, with what a person is to see of it. The summary is kept and
   * shown as it is: it must hold no secret, so never the value of a variable or of a header, only their names.
   */
  request(kind: string, name: string, hash: string, summary: string): Promise<void>;
  /** Approves this definition and no other; one that was approved before no longer is. */
  approve(kind: string, name: string, hash: string): Promise<void>;
  /** Forgets a name, approved or waiting; false if it was not known. */
  revoke(kind: string, name: string): Promise<boolean>;
  /** Everything approved or waiting, by kind and name. */
  list(): Promise<readonly Approval[]>;
}

declare module "../core/gateway.ts" {
  interface Services {
    /** Offered by the plugin `approvals`. */
    approvals?: Approvals;
  }
}

const GROUP = "approvals/";
const MAX_SUMMARY = 1_000;

const definition = v.object({ hash: v.string(), summary: v.string(), at: v.string() });
const kept = v.object({
  kind: v.string(),
  name: v.string(),
  approved: v.optional(definition),
  requested: v.optional(definition),
});

type Kept = v.InferOutput<typeof kept>;

/** The approvals in a store. An approval is given to a hash: whatever changes the definition asks again. */
export function approvalsIn(store: StateStore): Approvals {
  const change = async (kind: string, name: string, make: (now: Kept) => Kept | undefined): Promise<void> => {
    await updateState(store, keyOf(kind, name), (value) => make(read(value) ?? { kind, name }) as JsonObject);
  };

  return {
    async status(kind, name, hash) {
      const { approved } = read((await store.get(keyOf(kind, name)))?.value) ?? {};
      if (!approved) return "pending";
      return approved.hash === hash ? "approved" : "changed";
    },

    async request(kind, name, hash, summary) {
      checkHash(hash);
      const requested = { hash, summary: clean(summary), at: new Date().toISOString() };
      await change(kind, name, ({ requested: waiting, ...now }) => {
        if (now.approved?.hash === hash) return waiting && now;
        return waiting?.hash === hash && waiting.summary === requested.summary
          ? undefined
          : { ...now, requested };
      });
    },

    async approve(kind, name, hash) {
      checkHash(hash);
      await change(kind, name, ({ requested, ...now }) => {
        const isThis = requested?.hash === hash;
        const { summary } = (isThis ? requested : now.approved?.hash === hash ? now.approved : undefined) ?? {
          summary: "",
        };
        const approved = { hash, summary, at: new Date().toISOString() };
        return isThis || !requested ? { ...now, approved } : { ...now, approved, requested };
      });
    },

    revoke: (kind, name) => store.delete(keyOf(kind, name)),

    async list() {
      const entries = await store.list(GROUP);
      return entries.flatMap(({ key, value }) => {
        const found = read(value);
        // What stands under another name than its own was put there by someone else.
        return found && keyOf(found.kind, found.name) === key ? [{ ...found, status: statusOf(found) }] : [];
      });
    },
  };
}

/** Lets other plugins ask what a person has approved. */
export const approvals: PluginFactory<"approvals"> = definePlugin({
  name: "approvals",
  needs: ["state"],
  setup(gateway) {
    gateway.services.approvals = approvalsIn(gateway.services.state as StateStore);
  },
});

/** As JSON, so that no two pairs are written the same. */
function keyOf(kind: string, name: string): string {
  return `${GROUP}${JSON.stringify([kind, name])}`;
}

function read(value: JsonObject | undefined): Kept | undefined {
  const parsed = v.safeParse(kept, value);
  return parsed.success ? parsed.output : undefined;
}

function statusOf({ approved, requested }: Kept): ApprovalStatus {
  if (!approved) return "pending";
  return requested ? "changed" : "approved";
}

function checkHash(hash: string): void {
  // An empty one would approve whatever could not be hashed.
  if (typeof hash !== "string" || hash === "") {
    throw new GatewayError("INTERNAL", "An approval needs the hash of what is approved.");
  }
}

/** A summary comes from a file that a stranger may have written, and is printed on a terminal. */
function clean(summary: string): string {
  // Only text: a definition given by mistake would bring its variables and headers with it.
  if (typeof summary !== "string") {
    throw new GatewayError("INTERNAL", "The summary of an approval must be a text.");
  }
  const text = summary.replace(/[\p{Cc}\p{Cf}\p{Z}]+/gu, " ").trim();
  if (text.length <= MAX_SUMMARY) return text;
  // Both ends, and how much is missing: what is to be overlooked would be put behind something long.
  const half = MAX_SUMMARY / 2;
  return `${text.slice(0, half)} … (${text.length - MAX_SUMMARY} more characters) … ${text.slice(-half)}`;
}
