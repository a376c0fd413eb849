import { GatewayError, isJsonObject, type JsonObject } from "../../core/mod.ts";
import type { Client } from "../serve/client.ts";
import type { CompletionRequest, PromptProvider, PromptResult } from "../serve/prompts.ts";
import { RESOURCE_NOT_FOUND, type ResourceProvider, type ResourceResult } from "../serve/resources.ts";
import { UPSTREAM_ERROR, UPSTREAM_PROTOCOL } from "../upstreams/errors.ts";
import type { UpstreamMethod, Upstreams } from "../upstreams/mod.ts";
import { REQUEST_REFUSED } from "./errors.ts";
import type { Offer } from "./offer.ts";
import type { Watches } from "./watches.ts";

/** What the providers look things up in. */
export interface ProviderParts {
  readonly upstreams: () => Upstreams | undefined;
  readonly offer: () => Offer;
  readonly watches: Watches;
  /** Whether servers may be able to do something: also while it is not known yet. */
  readonly mayBe: (capability: "completions" | "subscribe") => boolean;
  readonly onChanged: (changed: () => void) => void;
}

interface Options {
  readonly client?: Client | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly input?: { readonly responses?: unknown; readonly state?: unknown } | undefined;
}

const INVALID_PARAMS = -32602;
/** What servers of the older era answer where there is nothing under a URI. */
const NO_RESOURCE = -32002;

/** The resources of all servers, read from whichever has them. */
export function resourcesOf(parts: ProviderParts): ResourceProvider {
  const { offer, watches } = parts;
  const watch: ResourceProvider["watch"] = async (uri, { onUpdate }) => {
    const server = offer().serverOf(uri);
    if (server === undefined || !offer().can("subscribe", server)) return undefined;
    return watches.add(server, uri, onUpdate);
  };
  return {
    list: () => offer().resources,
    templates: () => offer().templates,
    async read(uri, options) {
      const server = offer().serverOf(uri);
      if (server === undefined) return undefined;
      const result = await request(parts, server, "resources/read", { uri }, options);
      return checked<ResourceResult>(server, result, "contents");
    },
    // Whoever serves looks whether it is there to know what to say to clients.
    get watch() {
      return parts.mayBe("subscribe") ? watch : undefined;
    },
    whenChanged: parts.onChanged,
  } as ResourceProvider;
}

/** The prompts of all servers, and what completes their arguments and those of resource templates. */
export function promptsOf(parts: ProviderParts): PromptProvider {
  const { offer } = parts;
  const complete: PromptProvider["complete"] = async ({ ref, argument, context }, options) => {
    const target = targetOf(offer(), ref);
    if (!target || !offer().can("completions", target.server)) return undefined;
    const params = { ref: target.ref, argument, ...(context && { context }) };
    const result = await request(parts, target.server, "completion/complete", params, options);
    return completionIn(result);
  };
  return {
    list: () => offer().prompts,
    async get(name, args, options) {
      const prompt = offer().prompt(name);
      if (!prompt) return undefined;
      const { server } = prompt;
      const result = await request(
        parts,
        server,
        "prompts/get",
        { name: prompt.name, arguments: args },
        options,
      );
      return checked<PromptResult>(server, result, "messages");
    },
    get complete() {
      return parts.mayBe("completions") ? complete : undefined;
    },
    whenChanged: parts.onChanged,
  } as PromptProvider;
}

async function request(
  { upstreams }: ProviderParts,
  server: string,
  method: UpstreamMethod,
  params: JsonObject,
  { client, signal, input }: Options,
): Promise<JsonObject> {
  try {
    return (await upstreams()?.request(server, method, params, { client, signal, input })) ?? {};
  } catch (thrown) {
    throw refusal(thrown, method, params);
  }
}

/** What a server has against a request is for whoever made it to put right. */
function refusal(thrown: unknown, method: UpstreamMethod, { uri }: JsonObject): unknown {
  if (!GatewayError.is(thrown) || thrown.code !== UPSTREAM_ERROR.code) return thrown;
  const { rpcCode } = (thrown.data ?? {}) as { rpcCode?: unknown };
  if (rpcCode !== INVALID_PARAMS && rpcCode !== NO_RESOURCE) return thrown;
  const kind = method === "resources/read" ? RESOURCE_NOT_FOUND : REQUEST_REFUSED;
  return new GatewayError(kind, thrown.message, {
    cause: thrown,
    data: { ...(uri !== undefined && { uri }) },
  });
}

/** A client takes nothing at all of a result that is not what it should be, so this is said instead. */
function checked<T>(server: string, result: JsonObject, key: string): T {
  if (result["resultType"] === "input_required") return { ...result, [key]: [] } as T;
  if (Array.isArray(result[key])) return result as T;
  throw new GatewayError(
    UPSTREAM_PROTOCOL,
    `The server "${server}" answered in a way that cannot be understood.`,
  );
}

function targetOf(
  offer: Offer,
  ref: CompletionRequest["ref"],
): { readonly server: string; readonly ref: JsonObject } | undefined {
  if (ref.type === "ref/prompt") {
    const prompt = offer.prompt(ref.name);
    return prompt && { server: prompt.server, ref: { ...ref, name: prompt.name } };
  }
  const server = offer.serverOfTemplate(ref.uri) ?? offer.serverOf(ref.uri);
  return server === undefined ? undefined : { server, ref: { ...ref } };
}

function completionIn({ completion }: JsonObject): { values: string[]; total?: number; hasMore?: boolean } {
  const { values, total, hasMore } = isJsonObject(completion) ? completion : {};
  return {
    values: Array.isArray(values) ? values.filter((value) => typeof value === "string") : [],
    ...(typeof total === "number" && { total }),
    ...(typeof hasMore === "boolean" && { hasMore }),
  };
}
