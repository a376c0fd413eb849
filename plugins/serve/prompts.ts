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
import { createProviders } from "./_providers.ts";
import type { ReadOptions } from "./resources.ts";

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
  /** Given once what to call whenever the list is another one. */
  whenChanged?(changed: () => void): void;
}

/** All prompts of a gateway. */
export interface Prompts {
  list(options?: Pick<PromptOptions, "actor">): Promise<readonly Prompt[]>;
  /** Rejects with {@link PROMPT_NOT_FOUND} where there is none. */
  get(name: string, args?: Readonly<JsonObject>, options?: PromptOptions): Promise<PromptResult>;
  /** Nothing but no values where nobody knows how to go on. */
  complete(request: CompletionRequest, options?: PromptOptions): Promise<Completion>;
  /** Whether any provider can complete anything. */
  readonly canComplete: boolean;
  /** Whether any provider says when its list has changed. */
  readonly canChange: boolean;
  /** Calls back whenever the list is another one; returns what ends that. */
  onChanged(listener: () => void): () => void;
  add(provider: PromptProvider): void;
}

declare module "../../core/gateway.ts" {
  interface Services {
    /** There where a plugin has prompts; see `offerPrompts`. */
    prompts?: Prompts;
  }
}

/** What MCP allows in one answer. */
const MAX_VALUES = 100;

/** Lets clients get the prompts of a provider. Whoever serves the gateway says so to clients from then on. */
export function offerPrompts(gateway: Gateway, provider: PromptProvider): void {
  gateway.services.prompts ??= createPrompts();
  gateway.services.prompts.add(provider);
}

function createPrompts(): Prompts {
  const providers = createProviders<PromptProvider>();
  const { onChanged, add } = providers;
  return {
    list: ({ actor = localUser } = {}) => providers.all((provider) => provider.list({ actor })),
    async get(name, args = {}, { actor = localUser, ...options } = {}) {
      const got = await providers.first((provider) => provider.get(name, args, { actor, ...options }));
      if (got) return got;
      const shown = name.slice(0, 80);
      throw new GatewayError(PROMPT_NOT_FOUND, `There is no prompt "${shown}".`, { data: { name: shown } });
    },
    async complete(request, { actor = localUser, ...options } = {}) {
      const found = await providers.first((provider) => provider.complete?.(request, { actor, ...options }));
      return found ? within(found) : { values: [] };
    },
    get canComplete() {
      return providers.some(({ complete }) => complete);
    },
    get canChange() {
      return providers.some(({ whenChanged }) => whenChanged);
    },
    onChanged,
    add,
  };
}

function within(completion: Completion): Completion {
  const { values, total = values.length } = completion;
  if (values.length <= MAX_VALUES) return completion;
  return { ...completion, values: values.slice(0, MAX_VALUES), total, hasMore: true };
}
