import { Call, type SettledCall } from "./call.ts";
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
  audit: true,
  ready: true,
  close: true,
  "catalog:change": true,
  "tool:discover": true,
  error: true,
};

/** The names of all hooks. */
export const hookNames: readonly HookName[] = Object.keys(every) as HookName[];

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

function blame(thrown: unknown, hook: Hook | undefined, name: string): GatewayError {
  if (GatewayError.is(thrown)) return thrown;
  const plugin = (hook && owners.get(hook)) ?? "unknown";
  return new GatewayError("INTERNAL", `The plugin "${plugin}" failed in its "${name}" hook.`, {
    cause: thrown,
    data: { plugin, hook: name },
  });
}

/** Whether a hook is still at work. */
export function isPending<T>(returned: MaybePromise<T> | PromiseLike<T>): returned is Promise<T> {
  return typeof (returned as PromiseLike<T> | undefined)?.then === "function";
}

/** Calls the hooks one after another and stops at the first that throws, or once the call is over. */
export function inOrder(
  hooks: readonly AnyHook[],
  args: readonly [subject?: unknown],
  name: string,
): MaybePromise<void> {
  for (let index = 0; index < hooks.length; index++) {
    if (isOver(args[0])) return;
    const hook = hooks[index] as AnyHook;
    try {
      const returned = hook(args[0]);
      if (isPending(returned)) return awaitInOrder(hooks, args, name, index, returned);
    } catch (thrown) {
      throw blame(thrown, hook, name);
    }
  }
}

/** The same from the first hook on that takes its time. */
async function awaitInOrder(
  hooks: readonly AnyHook[],
  args: readonly [subject?: unknown],
  name: string,
  start: number,
  first: PromiseLike<void>,
): Promise<void> {
  let pending: MaybePromise<void> | PromiseLike<void> = first;
  for (let index = start; ; ) {
    try {
      if (isPending(pending)) await pending;
      index++;
      if (index >= hooks.length || isOver(args[0])) return;
      pending = (hooks[index] as AnyHook)(args[0]);
    } catch (thrown) {
      throw blame(thrown, hooks[index] as AnyHook, name);
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
 * Calls the first hook with a `next` that calls the second, and so on; behind the last one nobody answered.
 * `next` rejects with what was thrown, as it was thrown. When all of it is over, `over` is called.
 */
export function around(
  hooks: readonly AnyHook[],
  args: readonly [call: Call, next: Next],
  name: string,
): void {
  const [call, over] = args as unknown as readonly [Call, Over];
  // Kept on the side, because wrapping every promise of the chain to know it would double its cost.
  let culprit: { readonly thrown: unknown; readonly hook: Hook | undefined } | undefined;
  /** What the last `next` has returned. A hook that hands just that on has no promise of its own to look after. */
  let latest: Promise<void> | undefined;
  const suspect = (thrown: unknown, hook: Hook | undefined): void => {
    // An error on its way out passes every hook; the first to see it is where it came from.
    if (!culprit || culprit.thrown !== thrown) culprit = { thrown, hook };
  };
  const accuse = (thrown: unknown): void => over(blame(thrown, culprit?.hook, name));
  try {
    const returned = step(0);
    if (returned === done) over(undefined);
    else returned.then(() => over(undefined), accuse);
  } catch (thrown) {
    accuse(thrown);
  }

  function step(index: number): Promise<void> {
    const hook = hooks[index];
    try {
      if (!hook) throw unanswered(call);
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

function unanswered(call: Call): GatewayError {
  return new GatewayError("UNANSWERED", `No plugin executes the tools of the server "${call.tool?.server}".`);
}

/** Calls every hook, whatever the others do; failures go to `onError`. */
export function isolated(onError: (error: GatewayError) => void): Caller {
  return (hooks, args, name) => {
    let pending: PromiseLike<void>[] | undefined;
    for (const hook of hooks) {
      try {
        const returned = hook(...args);
        if (isPending(returned)) {
          pending ??= [];
          pending.push(returned.then(ignore, (thrown) => onError(blame(thrown, hook, name))));
        }
      } catch (thrown) {
        onError(blame(thrown, hook, name));
      }
    }
    if (pending) return Promise.all(pending).then(ignore);
  };
}
