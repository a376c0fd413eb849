import { setImmediate } from "node:timers";
import { GatewayError, type Hooks, type Plugin, type PluginOrder } from "../../core/mod.ts";

/** A plugin of nothing but hooks. */
export function plugin(
  name: string,
  hooks: Partial<Hooks>,
  rest: {
    readonly order?: PluginOrder | undefined;
    readonly uses?: readonly string[];
    readonly provides?: readonly string[];
  } = {},
): Plugin {
  return { name, ...rest, setup: () => hooks };
}

/** Puts the tool `s:t` into the catalog, and leaves it to others to execute it. */
export const listed: Plugin = {
  name: "listed",
  setup: (gateway) => ({
    async ready() {
      await gateway.catalog.replace({ id: "s" }, [{ name: "t", inputSchema: { type: "object" } }]);
    },
  }),
};

let thrown = 0;

/** Values that hooks may throw, by a name for counterexamples. Foreign errors contain the word "secret". */
export const throwables = {
  gatewayError: (): unknown => new GatewayError("DENIED", "Not today."),
  error: (): unknown => new Error("secret"),
  frozenError: (): unknown => Object.freeze(new TypeError("secret")),
  string: (): unknown => `secret ${++thrown}`,
  object: (): unknown => ({ secret: true }),
  undefined: (): unknown => undefined,
  null: (): unknown => null,
};

/** The name of something to throw. */
export type Throwable = keyof typeof throwables;

/** The names of all that hooks may throw. */
export const throwableNames: Throwable[] = Object.keys(throwables) as Throwable[];

/** A promise and its two ends. */
export interface Deferred<T> {
  readonly promise: Promise<T>;
  resolve(value: T): void;
  reject(reason: unknown): void;
}

/** Makes a promise that the test settles. */
export function deferred<T = void>(): Deferred<T> {
  let ends: Omit<Deferred<T>, "promise"> | undefined;
  const promise = new Promise<T>((resolve, reject) => {
    ends = { resolve, reject };
  });
  return { promise, ...(ends as Omit<Deferred<T>, "promise">) };
}

/** A promise that never settles: a hook that hangs. */
export function hang(): Promise<never> {
  return new Promise(() => {});
}

/** Lets everything that can go on without a timer go on. */
export async function quiet(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
}

/** The unhandled rejections while `act` ran and everything came to rest. */
export async function collectUnhandled(act: () => Promise<unknown>): Promise<unknown[]> {
  const seen: unknown[] = [];
  const others = process.listeners("unhandledRejection");
  const listen = (reason: unknown): void => void seen.push(reason);
  process.removeAllListeners("unhandledRejection");
  process.on("unhandledRejection", listen);
  try {
    await act();
    await quiet();
  } finally {
    process.off("unhandledRejection", listen);
    for (const other of others) process.on("unhandledRejection", other);
  }
  return seen;
}
