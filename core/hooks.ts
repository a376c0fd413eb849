import type { Call, SettledCall } from "./call.ts";
import type { GatewayError } from "./errors.ts";
import type { Tool } from "./tool.ts";

/** A value or a promise of it. Hooks that return nothing cost no microtask. */
export type MaybePromise<T> = T | Promise<T>;

/** Runs the rest of the `execute` hooks and, innermost, the tool. May be called again to retry. */
export type Next = () => Promise<void>;

/** The hooks of plugins: a bare verb is a stage or a lifecycle step, `noun:verb` a notification. */
export interface Hooks {
  /** Binds `call.tool`, or leaves it to the next hook and at last to the catalog. */
  resolve: (call: Call) => MaybePromise<void>;
  /** Denies the call by throwing. */
  policy: (call: Call) => MaybePromise<void>;
  /** Checks `call.args`, or replaces them. */
  validate: (call: Call) => MaybePromise<void>;
  /** Answers by setting `call.result`, or wraps `next`. */
  execute: (call: Call, next: Next) => MaybePromise<void>;
  /**
   * Runs when a disabled tool is called, after it was resolved. Throws a more precise error than `"TOOL_DISABLED"`, or has
   * the tool enter the catalog again if nothing holds it back any more.
   */
  "tool:disabled": (call: Call) => MaybePromise<void>;
  /** Observes the call once it is over. It cannot change it. */
  audit: (call: SettledCall) => MaybePromise<void>;
  /** All plugins are set up. */
  ready: () => MaybePromise<void>;
  /** Runs after all `ready` hooks: the catalog has the tools of every plugin. Throwing refuses the start. */
  start: () => MaybePromise<void>;
  /** The gateway closes; the last plugin is closed first. */
  close: () => MaybePromise<void>;
  /** The catalog has changed. */
  "catalog:change": (revision: number) => MaybePromise<void>;
  /** A tool is about to enter the catalog: enrich it. */
  "tool:discover": (tool: Tool) => MaybePromise<void>;
  /** Reports a failure outside any call, or in an observer. */
  error: (error: GatewayError) => MaybePromise<void>;
}

/** The name of a hook. */
export type HookName = keyof Hooks;

// An object and not an array, so that the compiler notices a hook that is missing here.
const every: Record<HookName, true> = {
  resolve: true,
  policy: true,
  validate: true,
  execute: true,
  "tool:disabled": true,
  audit: true,
  ready: true,
  start: true,
  close: true,
  "catalog:change": true,
  "tool:discover": true,
  error: true,
};

/** The names of all hooks. */
export const hookNames: readonly HookName[] = Object.keys(every) as HookName[];

/** Time limits of hooks, in milliseconds. */
export interface HookLimits {
  /** All hooks of one name together, and `setup`; 120,000 by default. */
  readonly hookMs?: number;
  /** The `execute` hooks of a call, where no plugin limits them; 3,600,000 by default. */
  readonly executeMs?: number;
}

/** Longest delay of a timer. */
export const LONGEST_TIMER_MS: number = 2 ** 31 - 1;
/** Longer than the start of any server: a server may have to start before a call can be resolved. */
export const HOOK_MS = 120_000;
/** A tool may work for a long time; the plugin `timeout` has shorter limits, by tool. */
export const EXECUTE_MS = 3_600_000;
