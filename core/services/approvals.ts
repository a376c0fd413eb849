import { defineError, type ErrorKind } from "../errors.ts";
import type { MaybePromise } from "../hooks.ts";
import type { JsonObject, Tool } from "../tool.ts";

/** The definition of a tool is not the one that was approved. */
export const TOOL_CHANGED: ErrorKind = defineError("TOOL_CHANGED", { spec: "TOOL_CHANGED", exit: 4 });
/** The tool waits for approval. */
export const TOOL_PENDING: ErrorKind = defineError("TOOL_PENDING", { spec: "TOOL_PENDING", exit: 4 });

/** Whether a definition is approved, another one of the same name is, or none is. */
export type ApprovalStatus = "approved" | "changed" | "pending";

/** One definition, identified by its hash. */
export interface ApprovalDefinition {
  readonly hash: string;
  /** Shown to a person; holds no secrets. */
  readonly summary: string;
  /** When it was approved or requested, as an ISO date. */
  readonly at: string;
}

/** The stored approval of one name. */
export interface Approval {
  /** The kind of definition: `server`, `tool`, … */
  readonly kind: string;
  /** Unique within its kind: two definitions under one name each count as a change of the other. */
  readonly name: string;
  /** `changed` if a definition other than the approved one is requested. */
  readonly status: ApprovalStatus;
  readonly approved?: ApprovalDefinition | undefined;
  readonly requested?: ApprovalDefinition | undefined;
}

/** An item that a person has to approve before it can be used. */
export interface PendingApproval {
  /** The name of the {@link ApprovalKind} that lists it. */
  readonly kind: string;
  /** The name a person approves it by: a server, or a tool as `server:tool`. */
  readonly id: string;
  /** `changed` if an earlier definition of it was approved. */
  readonly status: "changed" | "pending";
  /** The hash of its definition: nothing else is approved with it. */
  readonly hash: string;
  /** The definition in one line, without secrets. */
  readonly summary: string;
  /** Why it is held back, and the command that approves it. */
  readonly reason: string;
  /** The definition in full, without secrets. */
  readonly details?: JsonObject;
  /** Names of members that can be approved alone, as `id:part`. */
  readonly parts?: readonly string[];
}

/** Options of {@link Approvals.decide}. */
export interface DecideOptions {
  /** Decides on items of this kind only. */
  readonly kind?: string;
  /** Decides on the definition with this hash only: the one that was shown. */
  readonly hash?: string;
  /** The config file that an approved server is added to, where its kind adds servers to a config. */
  readonly config?: string | undefined;
}

/** A tool that is disabled until a person approves it. */
export interface HeldTool {
  readonly tool: Tool;
  readonly status: "changed" | "pending";
  readonly reason: string;
  readonly hash: string;
}

/**
 * Gives the reason to hold a tool back. With `isCalled`, the tool is already held and was called: the answer must not
 * come from a cache, since the tool may be approved by now.
 */
export type ToolJudge = (tool: Tool, isCalled: boolean) => MaybePromise<Omit<HeldTool, "tool"> | undefined>;

/** The tools that one {@link ToolJudge} holds back. */
export interface ToolGate {
  held(): readonly HeldTool[];
  /** Judges the tools of a server again. */
  release(server: string): Promise<void>;
}

/** Stores what a person has approved, and decides on what waits. Provided by the plugin `approvals`. */
export interface Approvals {
  status(kind: string, name: string, hash: string): Promise<ApprovalStatus>;
  /**
   * Records that a definition waits for approval. The summary is stored and shown as it is, so it must hold no
   * secret: names of variables and headers, never their values.
   */
  request(kind: string, name: string, hash: string, summary: string): Promise<void>;
  /** Approves one definition; the one that was approved before no longer is. */
  approve(kind: string, name: string, hash: string): Promise<void>;
  /** Deletes what is stored of a name; false if nothing was. */
  revoke(kind: string, name: string): Promise<boolean>;
  /** Everything that is approved or requested, by kind and name. */
  list(): Promise<readonly Approval[]>;
  /** What waits for a decision, over all registered kinds or of one. */
  pending(kind?: string): Promise<readonly PendingApproval[]>;
  /**
   * Approves or refuses what waits under an id: an item, a part of one, or all tools of a server. Of several kinds the
   * first by name counts. A refused item stays held back and is no longer listed by this process.
   *
   * @returns The items that were decided on; none where nothing waits under the id.
   */
  decide(id: string, grant: boolean, options?: DecideOptions): Promise<readonly PendingApproval[]>;
  /** Takes back the approval of an id, of whichever kind. Returns its full name, or undefined if none was approved. */
  withdraw(id: string): Promise<string | undefined>;
  /** Disables each tool that `judge` gives a reason for: when it is discovered, and until it is called without one. */
  gateTools(judge: ToolJudge): ToolGate;
}

/** Lists, approves and revokes one kind of definition. Registered as `approval` by the plugin that holds it back. */
export interface ApprovalKind {
  pending(): MaybePromise<readonly PendingApproval[]>;
  /** Approves items of {@link ApprovalKind.pending}, or one part of one item. Returns them as they are now. */
  approve(
    items: readonly PendingApproval[],
    options: { readonly part?: string | undefined; readonly config?: string | undefined },
  ): Promise<readonly PendingApproval[]>;
  /** Takes an approval back. Returns its full name, or undefined if there is none of this id. */
  revoke(id: string): Promise<string | undefined>;
}
