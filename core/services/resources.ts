import type { Actor, CallInput } from "../call.ts";
import { defineError, type ErrorKind } from "../errors.ts";
import type { MaybePromise } from "../hooks.ts";
import type { JsonObject } from "../tool.ts";
import type { Client } from "./clients.ts";

/** There is no prompt of a name, or not for whoever asks. */
export const PROMPT_NOT_FOUND: ErrorKind = defineError("PROMPT_NOT_FOUND", { rpc: -32602, exit: 2 });

/** A prompt that a client can offer its user, as MCP lists it. */
export interface Prompt {
  readonly name: string;
  readonly [field: string]: unknown;
}

/** A prompt with its arguments filled in. */
export interface PromptResult {
  readonly messages: readonly JsonObject[];
  readonly description?: string;
  readonly _meta?: JsonObject;
  /** `input_required` where these are questions of a server instead, which a client of the newer era answers. */
  readonly resultType?: string;
  readonly inputRequests?: unknown;
  readonly requestState?: unknown;
}

/** Who asks, and until when. */
export type PromptOptions = ReadOptions;

/** What is to be completed: an argument of a prompt, or a variable in the template of a resource. */
export interface CompletionRequest {
  readonly ref:
    | { readonly type: "ref/prompt"; readonly name: string }
    | { readonly type: "ref/resource"; readonly uri: string };
  readonly argument: { readonly name: string; readonly value: string };
  /** What was filled in already, as it came. */
  readonly context?: Readonly<JsonObject> | undefined;
}

/** How an argument could go on. */
export interface Completion {
  readonly values: readonly string[];
  readonly total?: number;
  readonly hasMore?: boolean;
}

/** Whoever has prompts. */
export interface PromptProvider {
  list(options: { readonly actor: Actor }): MaybePromise<readonly Prompt[]>;
  /** Nothing where the name is none of its own, so that another provider is asked. */
  get(
    name: string,
    args: Readonly<JsonObject>,
    options: PromptOptions & { readonly actor: Actor },
  ): MaybePromise<PromptResult | undefined>;
  /** Completes arguments of prompts and of resource templates. Nothing where the reference is none of its own. */
  complete?(
    request: CompletionRequest,
    options: PromptOptions & { readonly actor: Actor },
  ): MaybePromise<Completion | undefined>;
  /** Given once what to call whenever the list changes. */
  onChange?(changed: () => void): void;
  /** False while it has nothing to offer: then clients are not told of it. */
  isOffered?(): boolean;
}

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
  /** Given once what to call whenever the list or the templates change. */
  onChange?(changed: () => void): void;
  /** False while it has nothing to offer: then clients are not told of it. */
  isOffered?(): boolean;
}
