import { type Gateway, GatewayError, localUser, type MaybePromise } from "../../core/mod.ts";
import {
  type Completion,
  type CompletionRequest,
  PROMPT_NOT_FOUND,
  type Prompt,
  type PromptOptions,
  type PromptProvider,
  type PromptResult,
  RESOURCE_NOT_FOUND,
  type ReadOptions,
  type Resource,
  type ResourceProvider,
  type ResourceResult,
  type ResourceTemplate,
  type WatchOptions,
} from "../../core/services/resources.ts";

import { waitAtMost } from "../lib/backoff.ts";
import { listPendingServers } from "../lib/servers.ts";

/** The resources of all plugins of a gateway. */
export type Resources = ReturnType<typeof createResources>;

/** The prompts of all plugins of a gateway. */
export type Prompts = ReturnType<typeof createPrompts>;

type ActorOption = Pick<ReadOptions, "actor">;

/** The limit of MCP for one answer. */
const MAX_VALUES = 100;

/** Time that lists wait, in all, for servers that have never been listed: one that hangs delays no list after it. */
const LISTS_MS = 3_000;

/** The time until which lists wait, on the clock of `performance.now()`. */
const listsUntil = new WeakMap<Gateway, number>();
const resourcesByGateway = new WeakMap<Gateway, Resources>();
const promptsByGateway = new WeakMap<Gateway, Prompts>();

/**
 * Prepares a list for a client: it waits a bounded time for servers that have never been listed, and old listings are read
 * again in the background. Returns undefined where there is nothing to wait for.
 */
export function prepareLists(gateway: Gateway | undefined): Promise<unknown> | undefined {
  const { servers } = gateway?.services ?? {};
  if (!gateway || !servers) return undefined;
  servers.refreshStale();
  const pending = listPendingServers(gateway);
  if (pending.length === 0) return undefined;
  const until = listsUntil.get(gateway) ?? performance.now() + LISTS_MS;
  listsUntil.set(gateway, until);
  const leftMs = Math.ceil(until - performance.now());
  const listed = pending.map((name) => servers.refresh(name));
  return leftMs > 0 ? waitAtMost(Promise.all(listed), leftMs) : undefined;
}

/** Returns the resources of a gateway; undefined if no plugin has any. */
export function getResources(gateway: Gateway | undefined): Resources | undefined {
  if (!gateway || !isOffered(gateway.drivers("resources"))) return undefined;
  const known = resourcesByGateway.get(gateway) ?? createResources(gateway);
  resourcesByGateway.set(gateway, known);
  return known;
}

/** Returns the prompts of a gateway; undefined if no plugin has any. */
export function getPrompts(gateway: Gateway | undefined): Prompts | undefined {
  if (!gateway || !isOffered(gateway.drivers("prompts"))) return undefined;
  const known = promptsByGateway.get(gateway) ?? createPrompts(gateway);
  promptsByGateway.set(gateway, known);
  return known;
}

function createResources(gateway: Gateway) {
  const providers = new Providers<ResourceProvider>(gateway.drivers("resources"));
  return {
    list: ({ actor = localUser }: ActorOption = {}): Promise<readonly Resource[]> =>
      providers.all((provider) => provider.list({ actor })),
    /** Rejects with {@link RESOURCE_NOT_FOUND} if there is nothing. */
    async read(uri: string, { actor = localUser, ...options }: ReadOptions = {}): Promise<ResourceResult> {
      const read = await providers.first((provider) => provider.read(uri, { actor, ...options }));
      if (read) return read;
      throw noResource(uri, "There is nothing to be read under this URI.");
    },
    templates: ({ actor = localUser }: ActorOption = {}): Promise<readonly ResourceTemplate[]> =>
      providers.all((provider) => provider.templates?.({ actor }) ?? []),
    get canWatch(): boolean {
      return providers.some(({ watch }) => watch);
    },
    get canChange(): boolean {
      return providers.some(({ onChange }) => onChange);
    },
    /** Returns a function that ends the watch. Rejects with {@link RESOURCE_NOT_FOUND} if the URI cannot be watched. */
    async watch(
      uri: string,
      { actor = localUser, onUpdate }: WatchOptions,
    ): Promise<() => MaybePromise<void>> {
      const stop = await providers.first((provider) => provider.watch?.(uri, { actor, onUpdate }));
      if (stop) return stop;
      throw noResource(uri, "There is nothing to be watched under this URI.");
    },
    onChange: (listener: () => void): void => providers.onChange(listener),
  };
}

function createPrompts(gateway: Gateway) {
  const providers = new Providers<PromptProvider>(gateway.drivers("prompts"));
  return {
    list: ({ actor = localUser }: ActorOption = {}): Promise<readonly Prompt[]> =>
      providers.all((provider) => provider.list({ actor })),
    /** Rejects with {@link PROMPT_NOT_FOUND} if there is none. */
    async get(
      name: string,
      args: Readonly<Record<string, unknown>>,
      { actor = localUser, ...options }: PromptOptions = {},
    ): Promise<PromptResult> {
      const got = await providers.first((provider) => provider.get(name, args, { actor, ...options }));
      if (got) return got;
      const short = name.slice(0, 80);
      throw new GatewayError(PROMPT_NOT_FOUND, `There is no prompt "${short}".`, { data: { name: short } });
    },
    /** Returns no values if no provider knows any. */
    async complete(
      request: CompletionRequest,
      { actor = localUser, ...options }: PromptOptions = {},
    ): Promise<Completion> {
      const found = await providers.first((provider) => provider.complete?.(request, { actor, ...options }));
      return found ? limitValues(found) : { values: [] };
    },
    get canComplete(): boolean {
      return providers.some(({ complete }) => complete);
    },
    get canChange(): boolean {
      return providers.some(({ onChange }) => onChange);
    },
    onChange: (listener: () => void): void => providers.onChange(listener),
  };
}

interface Provider {
  isOffered?(): boolean;
  onChange?(changed: () => void): void;
}

function isOffered(drivers: ReadonlyMap<string, Provider>): boolean {
  return [...drivers.values()].some((provider) => provider.isOffered?.() ?? true);
}

/** The providers of one kind, that of the first plugin first. */
class Providers<P extends Provider> {
  readonly #drivers: ReadonlyMap<string, P>;
  readonly #listeners = new Set<() => void>();

  constructor(drivers: ReadonlyMap<string, P>) {
    this.#drivers = drivers;
    const changed = (): void => {
      for (const listener of this.#listeners) listener();
    };
    for (const provider of drivers.values()) provider.onChange?.(changed);
  }

  async all<T>(ask: (provider: P) => MaybePromise<readonly T[]>): Promise<readonly T[]> {
    const lists = await Promise.all([...this.#drivers.values()].map((provider) => ask(provider)));
    return lists.flatMap((list) => [...list]);
  }

  /** Asks one after another until one has an answer. */
  async first<T>(ask: (provider: P) => MaybePromise<T | undefined>): Promise<T | undefined> {
    for (const provider of this.#drivers.values()) {
      const answer = await ask(provider);
      if (answer) return answer;
    }
  }

  some(can: (provider: P) => unknown): boolean {
    return [...this.#drivers.values()].some((provider) => (provider.isOffered?.() ?? true) && can(provider));
  }

  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }
}

function limitValues(completion: Completion): Completion {
  const { values, total = values.length } = completion;
  if (values.length <= MAX_VALUES) return completion;
  return { ...completion, values: values.slice(0, MAX_VALUES), total, hasMore: true };
}

function noResource(uri: string, message: string): GatewayError {
  return new GatewayError(RESOURCE_NOT_FOUND, message, { data: { uri } });
}
