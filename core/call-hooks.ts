import { Call, limitCall, limitCallLater, unlimitCall } from "./call.ts";
import { GatewayError } from "./errors.ts";
import { EXECUTE_MS, HOOK_MS, type MaybePromise, type Next } from "./hooks.ts";

type Hook = (...args: never[]) => MaybePromise<void>;
type AnyHook = (...args: unknown[]) => MaybePromise<void>;
type Caller = (hooks: readonly AnyHook[], args: readonly unknown[], name: string) => MaybePromise<void>;

/** Returns whether a hook has returned a promise. */
export function isPending<T>(returned: MaybePromise<T> | PromiseLike<T>): returned is Promise<T> {
  return typeof (returned as PromiseLike<T> | undefined)?.then === "function";
}

// Read only when a hook fails, so that no hook has to be wrapped to know its plugin.
const owners = new WeakMap<Hook, string>();

/** Records the plugin of a hook. A function that another plugin has too is copied. */
export function setHookOwner<H extends Hook>(hook: H, plugin: string): H {
  const own = owners.has(hook) ? (hook.bind(undefined) as H) : hook;
  owners.set(own, plugin);
  return own;
}

function getHookOwner(hook: Hook | undefined): string {
  return (hook && owners.get(hook)) ?? "unknown";
}

function toHookError(thrown: unknown, hook: Hook | undefined, name: string): GatewayError {
  if (GatewayError.is(thrown)) return thrown;
  const plugin = getHookOwner(hook);
  return new GatewayError("INTERNAL", `The plugin "${plugin}" failed in its "${name}" hook.`, {
    cause: thrown,
    data: { plugin, hook: name },
  });
}

/** Creates the error of a plugin that has not finished in time. */
export function createTimeoutError(
  plugin: string,
  what: string,
  ms: number,
  note: string = HOOK_LIMIT,
): GatewayError {
  const message = `The plugin "${plugin}" has not finished its ${what} within ${ms} ms. ${note}`;
  return new GatewayError("TIMEOUT", message, { data: { plugin, ms } });
}

const HOOK_LIMIT = "The limit is limits.hookMs.";

/** Rejects with the error of `onLate` if a promise takes too long. The timer keeps the process alive until then. */
export function withTimeout<T>(ms: number, pending: PromiseLike<T>, onLate: () => GatewayError): Promise<T> {
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
export function callInOrder(
  hooks: readonly AnyHook[],
  args: readonly [subject?: unknown],
  name: string,
  ms: number = HOOK_MS,
  note?: string,
): MaybePromise<void> {
  for (let index = 0; index < hooks.length; index++) {
    if (isOver(args[0])) return;
    const hook = hooks[index] as AnyHook;
    try {
      const returned = hook(args[0]);
      if (isPending(returned))
        return continueWithin(new HookRun(hooks, args[0], name, index), returned, ms, note);
    } catch (thrown) {
      throw toHookError(thrown, hook, name);
    }
  }
}

/** Continues from the first pending hook, with one time limit for it and all hooks after it. */
function continueWithin(run: HookRun, first: PromiseLike<void>, ms: number, note?: string): Promise<void> {
  const { subject } = run;
  const onLate = (): GatewayError => createTimeoutError(run.plugin, `"${run.name}" hook`, ms, note);
  const rest = run.continue(first);
  if (!(subject instanceof Call)) return withTimeout(ms, rest, onLate);
  // A call that ends for any other reason lifts its limit itself.
  limitCall(subject, ms, onLate);
  return rest.finally(() => unlimitCall(subject));
}

/** The run through the hooks of one name, once one of them is pending. */
class HookRun {
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

  /** The plugin of the current hook. */
  get plugin(): string {
    return getHookOwner(this.hooks[this.#index]);
  }

  async continue(first: PromiseLike<void>): Promise<void> {
    let pending: MaybePromise<void> | PromiseLike<void> = first;
    for (;;) {
      try {
        if (isPending(pending)) await pending;
        if (this.#index + 1 >= this.hooks.length || isOver(this.subject)) return;
        this.#index++;
        pending = (this.hooks[this.#index] as AnyHook)(this.subject);
      } catch (thrown) {
        throw toHookError(thrown, this.hooks[this.#index], this.name);
      }
    }
  }
}

/** Checks calls only: the subject may be a tool, whose fields are its server's. */
function isOver(subject: unknown): boolean {
  return subject instanceof Call && (subject.ended || subject.cancelled !== undefined);
}

const done = Promise.resolve();
const ignore = (): void => {};

/** Called when an execution is over, with the error if it failed. */
export type Over = (failure: GatewayError | undefined) => void;

/**
 * Calls the first hook with a `next` that calls the second, and so on; after the last one the call is unanswered.
 * `next` rejects with the thrown value itself. When all hooks are done, `over` is called.
 */
export function callNested(
  hooks: readonly AnyHook[],
  args: readonly [call: Call, next: Next],
  name: string,
  ms: number = EXECUTE_MS,
  onAnswered?: (call: Call, index: number) => void,
): void {
  const [call, over] = args as unknown as readonly [Call, Over];
  // Kept aside: wrapping every promise of the chain to find the culprit would double its cost.
  let culprit: { readonly thrown: unknown; readonly hook: Hook | undefined } | undefined;
  /** The promise of the last `next`. A hook that returns it unchanged has no promise of its own to handle. */
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
  const accuse = (thrown: unknown): void => over(toHookError(thrown, culprit?.hook, name));
  try {
    const returned = step(0);
    if (returned === done) end();
    else {
      returned.then(end, accuse);
      // A plugin that limits the tool has a timer of its own.
      const limit = call.isTimed ? limitCallLater : limitCall;
      limit(call, ms, () => createExecuteTimeout(call, getHookOwner(hooks[reached]), ms));
    }
  } catch (thrown) {
    accuse(thrown);
  }

  function step(index: number): Promise<void> {
    const hook = hooks[index];
    try {
      if (!hook) throw createUnansweredError(call);
      reached = index;
      const returned = hook(call, () => next(index + 1));
      if (!isPending(returned) || returned === done) return done;
      if (returned === latest) return latest;
      // Also keeps a `next` that its hook does not await from ending the process as an unhandled rejection.
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

function createExecuteTimeout({ toolId }: Call, plugin: string, ms: number): GatewayError {
  return new GatewayError(
    "TIMEOUT",
    `"${toolId}" was not done within ${ms} ms; the last plugin that ran was "${plugin}". The limit is limits.executeMs.`,
    { data: { plugin, ms } },
  );
}

function createUnansweredError(call: Call): GatewayError {
  return new GatewayError("UNANSWERED", `No plugin executes the tools of the server "${call.tool?.server}".`);
}

/** Creates a caller that isolates hooks: failures go to `onError`, and hooks that take too long are not awaited. */
export function createIsolatedCaller(
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
          const done = withTimeout(ms, returned, () =>
            createTimeoutError(getHookOwner(hook), `"${name}" hook`, ms, note),
          );
          pending.push(done.then(ignore, (thrown) => onError(toHookError(thrown, hook, name))));
        }
      } catch (thrown) {
        onError(toHookError(thrown, hook, name));
      }
    }
    if (pending) return Promise.all(pending).then(ignore);
  };
}
