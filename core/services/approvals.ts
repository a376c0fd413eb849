import { defineError, type ErrorKind } from "../errors.ts";
import type { MaybePromise } from "../hooks.ts";
import type { JsonObject, Tool } from "../tool.ts";

export const TOOL_CHANGED: ErrorKind = defineError("TOOL_CHANGED", {
  spec: "TOOL_CHANGED",
  exit: 4,
  description: "The definition of a tool is not the one that was approved.",
});
export const TOOL_PENDING: ErrorKind = defineError("TOOL_PENDING", {
  spec: "TOOL_PENDING",
  exit: 4,
  description: "The tool waits for approval.",
});

/** Whether a definition is approved, another one of the same name is, or none is. */
export type ApprovalStatus = "approved" | "changed" | "pending";

/** One definition, identified by its hash. */
export interface ApprovalDefinition {
  readonly hash: string;
  /** For the user; without secrets. */
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

/** An item that the user has to approve before it can be used. */
export interface PendingApproval {
  /** The name of the {@link ApprovalKind} that lists it. */
  readonly kind: string;
  /** The name by which it is approved: a server, or a tool as `server:tool`. */
  readonly id: string;
  /** `changed` if an earlier definition of it was approved. */
  readonly status: "changed" | "pending";
  /** The hash of its definition: nothing else is approved with it. */
  readonly hash: string;
  /** The definition in one line, without secrets. */
  readonly summary: string;
  /** Reason why it is held back, with the command that approves it. */
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
  /** Decides on the definition with this hash only: the one that the user has read. */
  readonly hash?: string;
  /** The config file that an approved server is added to, where its kind adds servers to a config. */
  readonly config?: string | undefined;
}

declare module "../tool.ts" {
  interface Tool {
    /** Whether it waits for approval; `disabledBecause` says why. */
    isHeld?: boolean;
  }
}

/** A tool that is disabled until the user approves it. */
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

/** Stores approvals, and decides on pending ones. Provided by the plugin `approvals`. */
export interface Approvals {
  status(kind: string, name: string, hash: string): Promise<ApprovalStatus>;
  /**
   * Records that a definition waits for approval. The summary is stored and printed as it is, so it must hold no
   * secret: names of variables and headers, never their values.
   */
  request(kind: string, name: string, hash: string, summary: string): Promise<void>;
  /** Approves one definition; the one that was approved before no longer is. */
  approve(kind: string, name: string, hash: string): Promise<void>;
  /** Deletes the approval of a name; false if there is none. */
  revoke(kind: string, name: string): Promise<boolean>;
  /** Lists the stored approvals and requests. */
  list(): Promise<readonly Approval[]>;
  /** Lists the items that wait for a decision, of all registered kinds or of one. */
  pending(kind?: string): Promise<readonly PendingApproval[]>;
  /**
   * Approves or refuses pending items of an id: an item, a part of one, or all tools of a server. Of several kinds the
   * first by name counts. A refused item stays held back and is no longer listed by this process.
   *
   * @returns The items that were decided on; none if nothing is pending under the id.
   */
  decide(id: string, grant: boolean, options?: DecideOptions): Promise<readonly PendingApproval[]>;
  /** Revokes the approval of an id, of any kind. Returns its full name, or undefined if there is none. */
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
  /** Revokes an approval. Returns its full name, or undefined if there is none of this id. */
  revoke(id: string): Promise<string | undefined>;
}
