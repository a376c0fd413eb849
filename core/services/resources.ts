import type { Actor, CallInput } from "../call.ts";
import { defineError, type ErrorKind } from "../errors.ts";
import type { MaybePromise } from "../hooks.ts";
import type { JsonObject } from "../tool.ts";
import type { Client } from "./clients.ts";

export const PROMPT_NOT_FOUND: ErrorKind = defineError("PROMPT_NOT_FOUND", {
  rpc: -32602,
  exit: 2,
  description: "There is no prompt of this name, or none that the caller may get.",
});

/** A prompt, as MCP lists it. */
export interface Prompt {
  readonly name: string;
  readonly [field: string]: unknown;
}

/** A prompt with its arguments filled in. */
export interface PromptResult {
  readonly messages: readonly JsonObject[];
  readonly description?: string;
  readonly _meta?: JsonObject;
  /** `input_required` if the server asks for input, which a client of the modern protocol gives. */
  readonly resultType?: string;
  readonly inputRequests?: unknown;
  readonly requestState?: unknown;
}

/** Options of a prompt request. */
export type PromptOptions = ReadOptions;

/** Request to complete an argument of a prompt, or a variable in the template of a resource. */
export interface CompletionRequest {
  readonly ref:
    | { readonly type: "ref/prompt"; readonly name: string }
    | { readonly type: "ref/resource"; readonly uri: string };
  readonly argument: { readonly name: string; readonly value: string };
  /** Values of other arguments, unchecked. */
  readonly context?: Readonly<JsonObject> | undefined;
}

/** Possible values of an argument. */
export interface Completion {
  readonly values: readonly string[];
  readonly total?: number;
  readonly hasMore?: boolean;
}

/** Provides prompts. */
export interface PromptProvider {
  list(options: { readonly actor: Actor }): MaybePromise<readonly Prompt[]>;
  /** Returns undefined for a prompt of another provider. */
  get(
    name: string,
    args: Readonly<JsonObject>,
    options: PromptOptions & { readonly actor: Actor },
  ): MaybePromise<PromptResult | undefined>;
  /** Completes arguments of prompts and resource templates. Returns undefined for those of another provider. */
  complete?(
    request: CompletionRequest,
    options: PromptOptions & { readonly actor: Actor },
  ): MaybePromise<Completion | undefined>;
  /** Sets the listener for changes of the list. */
  onChange?(changed: () => void): void;
  /** Returns false while there is nothing to offer: then clients are not told of the capability. */
  isOffered?(): boolean;
}

export const RESOURCE_NOT_FOUND: ErrorKind = defineError("RESOURCE_NOT_FOUND", {
  rpc: -32602,
  exit: 2,
  description: "There is no resource under this URI, or none that the caller may read.",
});

/** A resource, as MCP lists it. */
export interface Resource {
  readonly uri: string;
  readonly name: string;
  readonly [field: string]: unknown;
}

/** A template of resource URIs, as MCP lists it. */
export interface ResourceTemplate {
  readonly uriTemplate: string;
  readonly name: string;
  readonly [field: string]: unknown;
}

/** Content of a resource: a string, or bytes as base64. */
export interface ResourceContents {
  readonly uri: string;
  readonly mimeType?: string;
  readonly text?: string;
  readonly blob?: string;
  readonly _meta?: JsonObject;
}

/** Result of reading a resource. */
export interface ResourceResult {
  readonly contents: readonly ResourceContents[];
  readonly _meta?: JsonObject;
  /** `input_required` if the server asks for input, which a client of the modern protocol gives. */
  readonly resultType?: string;
  readonly inputRequests?: unknown;
  readonly requestState?: unknown;
}

/** Options of a request for a resource or a prompt. */
export interface ReadOptions {
  /** The caller; the local user by default. */
  readonly actor?: Actor | undefined;
  readonly signal?: AbortSignal | undefined;
  /** The client of the request, which can be asked meanwhile; undefined if a program makes it. */
  readonly client?: Client | undefined;
  /** Answers of a client that was asked for input before. */
  readonly input?: CallInput | undefined;
  /** The `_meta` of the request. */
  readonly meta?: Readonly<JsonObject> | undefined;
}

/** Options of a resource subscription. */
export interface WatchOptions {
  /** The caller; the local user by default. */
  readonly actor?: Actor | undefined;
  /** Called with the URI of a changed resource, which may be below the watched one. */
  readonly onUpdate: (uri: string) => void;
}

/** Provides resources. */
export interface ResourceProvider {
  list(options: { readonly actor: Actor }): MaybePromise<readonly Resource[]>;
  /** Returns undefined for a URI of another provider. */
  read(
    uri: string,
    options: ReadOptions & { readonly actor: Actor },
  ): MaybePromise<ResourceResult | undefined>;
  /** Lists the templates of resources beyond the list. */
  templates?(options: { readonly actor: Actor }): MaybePromise<readonly ResourceTemplate[]>;
  /**
   * Watches a URI until the returned function is called. Returns undefined for a URI of another provider. With a provider
   * that has this method, a gateway offers subscriptions to clients.
   */
  watch?(
    uri: string,
    options: WatchOptions & { readonly actor: Actor },
  ): MaybePromise<(() => MaybePromise<void>) | undefined>;
  /** Sets the listener for changes of the list or the templates. */
  onChange?(changed: () => void): void;
  /** Returns false while there is nothing to offer: then clients are not told of the capability. */
  isOffered?(): boolean;
}
