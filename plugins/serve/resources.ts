import {
  type Actor,
  defineError,
  type ErrorKind,
  type Gateway,
  GatewayError,
  type JsonObject,
  localUser,
  type MaybePromise,
} from "../../core/mod.ts";

/** There is nothing to be read under a URI, or not for whoever asks. */
export const RESOURCE_NOT_FOUND: ErrorKind = defineError("RESOURCE_NOT_FOUND", { rpc: -32602, exit: 2 });

/** Something that a client can read, as MCP lists it. */
export interface Resource {
  readonly uri: string;
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
}

/** Who reads, and until when. */
export interface ReadOptions {
  /** The local user where nobody is named. */
  readonly actor?: Actor | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Whoever has something to be read. */
export interface ResourceProvider {
  list(options: { readonly actor: Actor }): MaybePromise<readonly Resource[]>;
  /** Nothing where the URI is none of its own, so that another provider is asked. */
  read(
    uri: string,
    options: ReadOptions & { readonly actor: Actor },
  ): MaybePromise<ResourceResult | undefined>;
}

/** Everything that can be read through a gateway. */
export interface Resources {
  list(options?: Pick<ReadOptions, "actor">): Promise<readonly Resource[]>;
  /** Rejects with {@link RESOURCE_NOT_FOUND} where there is nothing. */
  read(uri: string, options?: ReadOptions): Promise<ResourceResult>;
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
  const providers: ResourceProvider[] = [];
  return {
    async list({ actor = localUser } = {}) {
      return (await Promise.all(providers.map((provider) => provider.list({ actor })))).flat();
    },
    async read(uri, { actor = localUser, ...options } = {}) {
      for (const provider of providers) {
        const read = await provider.read(uri, { actor, ...options });
        if (read) return read;
      }
      throw new GatewayError(RESOURCE_NOT_FOUND, "There is nothing to be read under this URI.", {
        data: { uri },
      });
    },
    add: (provider) => void providers.push(provider),
  };
}
