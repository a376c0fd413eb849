import {
  defineError,
  type ErrorKind,
  type Gateway,
  GatewayError,
  isJsonObject,
  type JsonObject,
  type Tool,
} from "../../core/mod.ts";
import {
  type CompletionRequest,
  type PromptProvider,
  type PromptResult,
  RESOURCE_NOT_FOUND,
  type ReadOptions,
  type ResourceProvider,
  type ResourceResult,
} from "../../core/services/resources.ts";
import {
  CONNECT_FAILED,
  UPSTREAM_ERROR,
  UPSTREAM_PROTOCOL,
  type UpstreamMethod,
} from "../../core/services/servers.ts";
import type { CombinedListing } from "./listing.ts";
import type { Watches } from "./watches.ts";

export const REQUEST_REFUSED: ErrorKind = defineError("REQUEST_REFUSED", {
  rpc: -32602,
  exit: 2,
  description: "A server refused a request as invalid: an argument of a prompt is missing, for example.",
});

/** Sends a server a request that is not a tool call, and returns its result unchanged. */
type SendRequest = (
  server: string,
  method: UpstreamMethod,
  params: JsonObject,
  options: ReadOptions,
) => Promise<JsonObject>;

const INVALID_PARAMS = -32602;
/** The error code of servers of the legacy protocol for an unknown URI. */
const NO_RESOURCE = -32002;

/** Sends requests as calls of the gateway, so that rules, limits and the audit log apply to them. */
export function createSendRequest(gateway: Gateway): SendRequest {
  // One tool for all requests of a kind, since plugins cache by the tool object.
  const tools = new Map<string, Tool>();
  const getTool = (server: string, method: UpstreamMethod): Tool => {
    const key = `${server}:${method}`;
    const tool = tools.get(key) ?? gateway.services.servers?.requestTool(server, method);
    if (!tool) throw new GatewayError(CONNECT_FAILED, `There is no server "${server}".`);
    tools.set(key, tool);
    return tool;
  };

  return async (server, method, params, { actor, signal, client, input, meta }) => {
    const bound = getTool(server, method);
    const settled = await gateway.run({
      tool: bound.id,
      bound,
      args: params,
      actor,
      signal,
      input,
      meta: meta ?? {},
      notes: client && gateway.services.clients?.getNotes(client),
    });
    if (!settled.ok) throw toRequestError(settled.error, method, params);
    // The result of a dry run describes a call; it is not the result of this method.
    if (settled.via === "dry run") throw notCalled(bound);
    const { structuredContent } = settled.result;
    return isJsonObject(structuredContent) ? structuredContent : {};
  };
}

/** Turns a refusal by the server into an error of the request, which the client can correct. */
function toRequestError(error: GatewayError, method: UpstreamMethod, { uri }: JsonObject): GatewayError {
  if (error.code !== UPSTREAM_ERROR.code) return error;
  const { rpcCode } = error.data;
  if (rpcCode !== INVALID_PARAMS && rpcCode !== NO_RESOURCE) return error;
  const kind = method === "resources/read" ? RESOURCE_NOT_FOUND : REQUEST_REFUSED;
  return new GatewayError(kind, error.message, { cause: error, data: { ...(uri !== undefined && { uri }) } });
}

function notCalled({ id }: Tool): GatewayError {
  return new GatewayError(REQUEST_REFUSED, `"${id}" would be called; it was not, because this is a dry run.`);
}

/** Dependencies of the providers. */
export interface ProviderParts {
  readonly send: SendRequest;
  readonly listing: () => CombinedListing;
  readonly watches: Watches;
  /** Throws if a rule disables the resources of a server. */
  readonly checkWatch: (server: string) => void;
  /** Whether a server has a capability, or may have it: some are not listed yet. */
  readonly canHave: (capability: "completions" | "subscribe") => boolean;
  readonly onChange: (changed: () => void) => void;
  /** Whether resources or prompts are announced to clients. */
  readonly isOffered: (kind: "resources" | "prompts") => boolean;
}

/** Provides the resources of all servers. */
export function createResourceProvider(parts: ProviderParts): ResourceProvider {
  const { send, listing, watches, checkWatch } = parts;
  const watch: ResourceProvider["watch"] = async (uri, { onUpdate }) => {
    const server = listing().findServer(uri);
    if (server === undefined || !listing().can("subscribe", server)) return undefined;
    checkWatch(server);
    return watches.add(server, uri, onUpdate);
  };
  return {
    list: () => listing().resources,
    templates: () => listing().templates,
    async read(uri, options) {
      const server = listing().findServer(uri);
      if (server === undefined) return undefined;
      const result = await send(server, "resources/read", { uri }, options);
      return checkResult<ResourceResult>(server, result, "contents");
    },
    // Its presence is what the gateway announces to clients.
    get watch() {
      return parts.canHave("subscribe") ? watch : undefined;
    },
    onChange: parts.onChange,
    isOffered: () => parts.isOffered("resources"),
  } as ResourceProvider;
}

/** Provides the prompts of all servers, and completions for prompts and resource templates. */
export function createPromptProvider(parts: ProviderParts): PromptProvider {
  const { send, listing } = parts;
  const complete: PromptProvider["complete"] = async ({ ref, argument, context }, options) => {
    const target = findTarget(listing(), ref);
    if (!target || !listing().can("completions", target.server)) return undefined;
    const params = { ref: target.ref, argument, ...(context && { context }) };
    return readCompletion(await send(target.server, "completion/complete", params, options));
  };
  return {
    list: () => listing().prompts,
    async get(name, args, options) {
      const prompt = listing().findPrompt(name);
      if (!prompt) return undefined;
      const { server } = prompt;
      const result = await send(server, "prompts/get", { name: prompt.name, arguments: args }, options);
      return checkResult<PromptResult>(server, result, "messages");
    },
    get complete() {
      return parts.canHave("completions") ? complete : undefined;
    },
    onChange: parts.onChange,
    isOffered: () => parts.isOffered("prompts"),
  } as PromptProvider;
}

/** Throws if a result lacks its list: a client would refuse it as a whole. */
function checkResult<T>(server: string, result: JsonObject, key: string): T {
  if (result["resultType"] === "input_required") return { ...result, [key]: [] } as T;
  if (Array.isArray(result[key])) return result as T;
  throw new GatewayError(
    UPSTREAM_PROTOCOL,
    `The server "${server}" sent an invalid result: "${key}" is not a list.`,
  );
}

function findTarget(
  listing: CombinedListing,
  ref: CompletionRequest["ref"],
): { readonly server: string; readonly ref: JsonObject } | undefined {
  if (ref.type === "ref/prompt") {
    const prompt = listing.findPrompt(ref.name);
    return prompt && { server: prompt.server, ref: { ...ref, name: prompt.name } };
  }
  const server = listing.findTemplateServer(ref.uri) ?? listing.findServer(ref.uri);
  return server === undefined ? undefined : { server, ref: { ...ref } };
}

function readCompletion({ completion }: JsonObject): { values: string[]; total?: number; hasMore?: boolean } {
  const { values, total, hasMore } = isJsonObject(completion) ? completion : {};
  return {
    values: Array.isArray(values) ? values.filter((value) => typeof value === "string") : [],
    ...(typeof total === "number" && { total }),
    ...(typeof hasMore === "boolean" && { hasMore }),
  };
}
