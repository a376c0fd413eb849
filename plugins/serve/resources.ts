import {
  type Actor,
  type CallInput,
  defineError,
  type ErrorKind,
  type Gateway,
  GatewayError,
  type JsonObject,
  localUser,
  type MaybePromise,
} from "../../core/mod.ts";
import { createProviders } from "./_providers.ts";
import type { Client } from "./client.ts";

/** There is nothing to be read under a URI, or not for whoever asks. */
export const RESOURCE_NOT_FOUND: ErrorKind = defineError("RESOURCE_NOT_FOUND", { rpc: -32602, exit: 2 });

/** Something that a client can read, as MCP lists it. */
export interface Resource {
  readonly uri: string;
  readonly name: string;
  readonly [field: string]: unknown;
}

/** A pattern of URIs that can be read, as MCP lists it. */
export interface ResourceTemplate {
  readonly uriTemplate: string;
  readonly name: string;
  readonly [field: string]: unknown;
}

/** What was read: a text, or bytes as base64. */
export interface ResourceContents {
  readonly uri: string;
  readonly mimeType?: string;
  readonly text?: string;
  readonly blob?: string;
  readonly _meta?: JsonObject;
}

/** The answer to a reading. */
export interface ResourceResult {
  readonly contents: readonly ResourceContents[];
  readonly _meta?: JsonObject;
  /** `input_required` where these are questions of a server instead, which a client of the newer era answers. */
  readonly resultType?: string;
  readonly inputRequests?: unknown;
  readonly requestState?: unknown;
}

/** Who reads something, or gets a prompt, and until when. */
export interface ReadOptions {
  /** The local user where nobody is named. */
  readonly actor?: Actor | undefined;
  readonly signal?: AbortSignal | undefined;
  /** The client that asks, which can be asked and told things meanwhile; nobody where a program asks. */
  readonly client?: Client | undefined;
  /** What a client brings that was asked something when it asked for this before. */
  readonly input?: CallInput | undefined;
  /** The `_meta` of the request. */
  readonly meta?: Readonly<JsonObject> | undefined;
}

/** Who watches, and what is done when something has changed. */
export interface WatchOptions {
  /** The local user where nobody is named. */
  readonly actor?: Actor | undefined;
  /** Called with the URI of what has changed, which may lie below the one that is watched. */
  readonly onUpdate: (uri: string) => void;
}

/** Whoever has something to be read. */
export interface ResourceProvider {
  list(options: { readonly actor: Actor }): MaybePromise<readonly Resource[]>;
  /** Nothing where the URI is none of its own, so that another provider is asked. */
  read(
    uri: string,
    options: ReadOptions & { readonly actor: Actor },
  ): MaybePromise<ResourceResult | undefined>;
  /** What can be read beyond what is listed. */
  templates?(options: { readonly actor: Actor }): MaybePromise<readonly ResourceTemplate[]>;
  /**
   * Watches a URI until what it returns is called. Nothing where the URI is none of its own. A gateway with a
   * provider that can do this says to clients that they may subscribe.
   */
  watch?(
    uri: string,
    options: WatchOptions & { readonly actor: Actor },
  ): MaybePromise<(() => MaybePromise<void>) | undefined>;
  /** Given once what to call whenever the list or the templates are others. */
  whenChanged?(changed: () => void): void;
}

/** Everything that can be read through a gateway. */
export interface Resources {
  list(options?: Pick<ReadOptions, "actor">): Promise<readonly Resource[]>;
  /** Rejects with {@link RESOURCE_NOT_FOUND} where there is nothing. */
  read(uri: string, options?: ReadOptions): Promise<ResourceResult>;
  templates(options?: Pick<ReadOptions, "actor">): Promise<readonly ResourceTemplate[]>;
  /** Whether any provider can watch what it has. */
  readonly canWatch: boolean;
  /** Whether any provider says when its list has changed. */
  readonly canChange: boolean;
  /** Returns what ends the watching. Rejects with {@link RESOURCE_NOT_FOUND} where nobody watches such a URI. */
  watch(uri: string, options: WatchOptions): Promise<() => MaybePromise<void>>;
  /** Calls back whenever the list is another one; returns what ends that. */
  onChanged(listener: () => void): () => void;
  add(provider: ResourceProvider): void;
}

declare module "../../core/gateway.ts" {
  interface Services {
    /** There where a plugin has something to be read; see `offerResources`. */
    resources?: Resources;
  }
}

/** Lets clients read what a provider has. Whoever serves the gateway says so to clients from then on. */
export function offerResources(gateway: Gateway, provider: ResourceProvider): void {
  gateway.services.resources ??= createResources();
  gateway.services.resources.add(provider);
}

function createResources(): Resources {
  const providers = createProviders<ResourceProvider>();
  const { onChanged, add } = providers;
  return {
    list: ({ actor = localUser } = {}) => providers.all((provider) => provider.list({ actor })),
    async read(uri, { actor = localUser, ...options } = {}) {
      const read = await providers.first((provider) => provider.read(uri, { actor, ...options }));
      if (read) return read;
      throw nothing(uri, "There is nothing to be read under this URI.");
    },
    templates: ({ actor = localUser } = {}) =>
      providers.all((provider) => provider.templates?.({ actor }) ?? []),
    get canWatch() {
      return providers.some(({ watch }) => watch);
    },
    get canChange() {
      return providers.some(({ whenChanged }) => whenChanged);
    },
    async watch(uri, { actor = localUser, onUpdate }) {
      const stop = await providers.first((provider) => provider.watch?.(uri, { actor, onUpdate }));
      if (stop) return stop;
      throw nothing(uri, "There is nothing to be watched under this URI.");
    },
    onChanged,
    add,
  };
}

function nothing(uri: string, message: string): GatewayError {
  return new GatewayError(RESOURCE_NOT_FOUND, message, { data: { uri } });
}
