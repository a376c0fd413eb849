import { Call, limitCall, type SettledCall, unlimitCall } from "./call.ts";
import { GatewayError } from "./errors.ts";
import type { Tool } from "./tool.ts";

/** A value, or a promise of it. Hooks that return nothing cost no microtask. */
export type MaybePromise<T> = T | Promise<T>;

/** Runs the rest of the `execute` hooks and, innermost, the tool. May be called again to retry. */
export type Next = () => Promise<void>;

/** Every hook a plugin can take part in: a bare verb is a stage or a lifecycle step, `noun:verb` a notice. */
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
   * A tool that is not enabled is called, after it was resolved: throws a more precise error than `"TOOL_DISABLED"`, or has
   * the tool enter the catalog anew where nothing holds it back any more.
   */
  "tool:disabled": (call: Call) => MaybePromise<void>;
  /** Observes the call once it is over. It cannot change it. */
  audit: (call: SettledCall) => MaybePromise<void>;
  /** All plugins are set up. */
  ready: () => MaybePromise<void>;
  /** The gateway closes; the last plugin is closed first. */
  close: () => MaybePromise<void>;
  /** The catalog has changed. */
  "catalog:change": (revision: number) => MaybePromise<void>;
  /** A tool is about to enter the catalog: enrich it. */
  "tool:discover": (tool: Tool) => MaybePromise<void>;
  /** Something failed outside any call, or in an observer. */
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
  close: true,
  "catalog:change": true,
  "tool:discover": true,
  error: true,
};

/** The names of all hooks. */
export const hookNames: readonly HookName[] = Object.keys(every) as HookName[];

/** How long hooks may take, in milliseconds. */
export interface HookLimits {
  /** All hooks of one name together, and `setup`; 120,000 by default. */
  readonly hookMs?: number;
  /** The `execute` hooks of a call, where no plugin limits them; 3,600,000 by default. */
  readonly executeMs?: number;
}

/** The longest a timer can run. */
export const LONGEST_TIMER_MS: number = 2 ** 31 - 1;
/** A server may have to be started before a call can be resolved, so this is longer than any such start. */
export const HOOK_MS = 120_000;
/** A tool may work for a long time; the plugin `timeout` has shorter limits, by tool. */
export const EXECUTE_MS = 3_600_000;

type Hook = (...args: never[]) => MaybePromise<void>;
type AnyHook = (...args: unknown[]) => MaybePromise<void>;
type Caller = (hooks: readonly AnyHook[], args: readonly unknown[], name: string) => MaybePromise<void>;

// Looked at only when a hook fails, so that no hook has to be wrapped to know whose it is.
const owners = new WeakMap<Hook, string>();

/** Remembers which plugin a hook belongs to. A function that another plugin has too becomes one of its own. */
export function owned<H extends Hook>(hook: H, plugin: string): H {
  const own = owners.has(hook) ? (hook.bind(undefined) as H) : hook;
  owners.set(own, plugin);
  return own;
}

function ownerOf(hook: Hook | undefined): string {
  return (hook && owners.get(hook)) ?? "unknown";
}

function blame(thrown: unknown, hook: Hook | undefined, name: string): GatewayError {
  if (GatewayError.is(thrown)) return thrown;
  const plugin = ownerOf(hook);
  return new GatewayError("INTERNAL", `The plugin "${plugin}" failed in its "${name}" hook.`, {
    cause: thrown,
    data: { plugin, hook: name },
  });
}

/** Whether a hook is still at work. */
export function isPending<T>(returned: MaybePromise<T> | PromiseLike<T>): returned is Promise<T> {
  return typeof (returned as PromiseLike<T> | undefined)?.then === "function";
}

/** The error of a plugin that has not finished in time. */
export function late(plugin: string, what: string, ms: number, note: string = HOOK_LIMIT): GatewayError {
  return new GatewayError(
    "TIMEOUT",
    `The plugin "${plugin}" has not finished its ${what} within ${ms} ms. ${note}`,
    {
      data: { plugin, ms },
    },
  );
}

const HOOK_LIMIT = "The limit is limits.hookMs.";

/** Rejects with the error of `onLate` where a promise takes too long. The timer keeps the process alive until then. */
export function within<T>(ms: number, pending: PromiseLike<T>, onLate: () => GatewayError): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(onLate()), ms);
    pending.then(
      (value) => {
        clearTimeout(timer);
        resolve(value);
      },
      (thrown) => {
        clearTimeout(timer);
        reject(thrown);
      },
    );
  });
}

/** Calls the hooks one after another and stops at the first that throws, or once the call is over. */
export function inOrder(
  hooks: readonly AnyHook[],
  args: readonly [subject?: unknown],
  name: string,
  ms: number = HOOK_MS,
): MaybePromise<void> {
  for (let index = 0; index < hooks.length; index++) {
    if (isOver(args[0])) return;
    const hook = hooks[index] as AnyHook;
    try {
      const returned = hook(args[0]);
      if (isPending(returned)) return limited(new Walk(hooks, args[0], name, index), returned, ms);
    } catch (thrown) {
      throw blame(thrown, hook, name);
    }
  }
}

/** Goes on from the first hook that is still at work, with one time limit for it and all behind it. */
function limited(walk: Walk, first: PromiseLike<void>, ms: number): Promise<void> {
  const { subject } = walk;
  const onLate = (): GatewayError => late(walk.plugin, `"${walk.name}" hook`, ms);
  const rest = walk.goOn(first);
  if (!(subject instanceof Call)) return within(ms, rest, onLate);
  // A call that ends for any other reason lifts its limit itself.
  limitCall(subject, ms, onLate);
  return rest.finally(() => unlimitCall(subject));
}

/** The way through the hooks of one name, once one of them takes its time. */
class Walk {
  readonly hooks: readonly AnyHook[];
  readonly subject: unknown;
  readonly name: string;
  #index: number;

  constructor(hooks: readonly AnyHook[], subject: unknown, name: string, index: number) {
    this.hooks = hooks;
    this.subject = subject;
    this.name = name;
    this.#index = index;
  }

  /** The plugin whose hook is at work. */
  get plugin(): string {
    return ownerOf(this.hooks[this.#index]);
  }

  async goOn(first: PromiseLike<void>): Promise<void> {
    let pending: MaybePromise<void> | PromiseLike<void> = first;
    for (;;) {
      try {
        if (isPending(pending)) await pending;
        if (this.#index + 1 >= this.hooks.length || isOver(this.subject)) return;
        this.#index++;
        pending = (this.hooks[this.#index] as AnyHook)(this.subject);
      } catch (thrown) {
        throw blame(thrown, this.hooks[this.#index], this.name);
      }
    }
  }
}

/** Asked of calls only: a tool passes here too, and its fields are its server's. */
function isOver(subject: unknown): boolean {
  return subject instanceof Call && (subject.ended || subject.cancelled !== undefined);
}

const done = Promise.resolve();
const ignore = (): void => {};

/** Is told when an execution is over, and why it failed if it did. */
export type Over = (failure: GatewayError | undefined) => void;

/**
 * Calls the first hook with a `next` that calls the second, and so on; behind the last one the call is unanswered.
 * `next` rejects with what was thrown, as it was thrown. When all of it is over, `over` is called.
 */
export function around(
  hooks: readonly AnyHook[],
  args: readonly [call: Call, next: Next],
  name: string,
  ms: number = EXECUTE_MS,
  onAnswered?: (call: Call, index: number) => void,
): void {
  const [call, over] = args as unknown as readonly [Call, Over];
  // Kept on the side, because wrapping every promise of the chain to know it would double its cost.
  let culprit: { readonly thrown: unknown; readonly hook: Hook | undefined } | undefined;
  /** What the last `next` has returned. A hook that hands just that on has no promise of its own to look after. */
  let latest: Promise<void> | undefined;
  /** The hook that was called last. */
  let reached = 0;
  const end = (): void => {
    onAnswered?.(call, reached);
    over(undefined);
  };
  const suspect = (thrown: unknown, hook: Hook | undefined): void => {
    // An error on its way out passes every hook; the first to see it is where it came from.
    if (!culprit || culprit.thrown !== thrown) culprit = { thrown, hook };
  };
  const accuse = (thrown: unknown): void => over(blame(thrown, culprit?.hook, name));
  try {
    const returned = step(0);
    if (returned === done) end();
    else {
      returned.then(end, accuse);
      // A plugin that limits the call has a timer of its own.
      if (!call.isTimed) limitCall(call, ms, () => unfinished(call, ownerOf(hooks[reached]), ms));
    }
  } catch (thrown) {
    accuse(thrown);
  }

  function step(index: number): Promise<void> {
    const hook = hooks[index];
    try {
      if (!hook) throw unanswered(call);
      reached = index;
      const returned = hook(call, () => next(index + 1));
      if (!isPending(returned) || returned === done) return done;
      if (returned === latest) return latest;
      // Also keeps a `next` that its hook never looks at from ending the process as an unhandled rejection.
      returned.then(undefined, (thrown) => suspect(thrown, hook));
      return Promise.resolve(returned);
    } catch (thrown) {
      suspect(thrown, hook);
      throw thrown;
    }
  }

  function next(index: number): Promise<void> {
    try {
      if (isOver(call)) throw call.cancelled ?? new GatewayError("CANCELLED", "The call is already over.");
      latest = step(index);
    } catch (thrown) {
      latest = Promise.reject(thrown);
      latest.catch(ignore);
    }
    return latest;
  }
}

function unfinished({ toolId }: Call, plugin: string, ms: number): GatewayError {
  return new GatewayError(
    "TIMEOUT",
    `"${toolId}" was not done within ${ms} ms; the last plugin to take it on was "${plugin}". The limit is limits.executeMs.`,
    { data: { plugin, ms } },
  );
}

function unanswered(call: Call): GatewayError {
  return new GatewayError("UNANSWERED", `No plugin executes the tools of the server "${call.tool?.server}".`);
}

/** Calls every hook, whatever the others do; failures go to `onError`, and hooks that take too long are left behind. */
export function isolated(
  onError: (error: GatewayError) => void,
  ms: number = HOOK_MS,
  note?: string,
): Caller {
  return (hooks, args, name) => {
    let pending: PromiseLike<void>[] | undefined;
    for (const hook of hooks) {
      try {
        const returned = hook(...args);
        if (isPending(returned)) {
          pending ??= [];
          const done = within(ms, returned, () => late(ownerOf(hook), `"${name}" hook`, ms, note));
          pending.push(done.then(ignore, (thrown) => onError(blame(thrown, hook, name))));
        }
      } catch (thrown) {
        onError(blame(thrown, hook, name));
      }
    }
    if (pending) return Promise.all(pending).then(ignore);
  };
}
