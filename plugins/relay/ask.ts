import {
  defineError,
  type ErrorKind,
  type Gateway,
  GatewayError,
  isJsonObject,
  type JsonObject,
  type Tool,
} from "../../core/mod.ts";
import { RESOURCE_NOT_FOUND, type ReadOptions } from "../../core/services/resources.ts";
import { CONNECT_FAILED, UPSTREAM_ERROR, type UpstreamMethod } from "../../core/services/servers.ts";

/** A server refuses a request as wrong: an argument of a prompt is missing, say. */
export const REQUEST_REFUSED: ErrorKind = defineError("REQUEST_REFUSED", { rpc: -32602, exit: 2 });

/** Asks a server for something besides its tools, and returns the answer as it came. */
export type Ask = (
  server: string,
  method: UpstreamMethod,
  params: JsonObject,
  options: ReadOptions,
) => Promise<JsonObject>;

const INVALID_PARAMS = -32602;
/** What servers of the older era answer where there is nothing under a URI. */
const NO_RESOURCE = -32002;

/** Makes what asks servers. Each request is a call of the gateway, so that all that is said of calls holds for it. */
export function createAsk(gateway: Gateway): Ask {
  // One for all requests of a kind, since what is said of a tool is remembered by the tool itself.
  const tools = new Map<string, Tool>();
  const toolFor = (server: string, method: UpstreamMethod): Tool => {
    const key = `${server}:${method}`;
    const tool = tools.get(key) ?? gateway.services.servers?.requestTool(server, method);
    if (!tool) throw new GatewayError(CONNECT_FAILED, `There is no server "${server}".`);
    tools.set(key, tool);
    return tool;
  };

  return async (server, method, params, { actor, signal, client, input, meta }) => {
    const bound = toolFor(server, method);
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
    if (!settled.ok) throw refusal(settled.error, method, params);
    // Its answer shows a call, and has no place in that of another request.
    if (settled.via === "dry run") throw notMade(bound);
    const { structuredContent } = settled.result;
    return isJsonObject(structuredContent) ? structuredContent : {};
  };
}

/** What a server has against a request is for whoever made it to put right. */
function refusal(error: GatewayError, method: UpstreamMethod, { uri }: JsonObject): GatewayError {
  if (error.code !== UPSTREAM_ERROR.code) return error;
  const { rpcCode } = error.data;
  if (rpcCode !== INVALID_PARAMS && rpcCode !== NO_RESOURCE) return error;
  const kind = method === "resources/read" ? RESOURCE_NOT_FOUND : REQUEST_REFUSED;
  return new GatewayError(kind, error.message, {
    cause: error,
    data: { ...(uri !== undefined && { uri }) },
  });
}

function notMade({ id }: Tool): GatewayError {
  return new GatewayError(REQUEST_REFUSED, `"${id}" would be called; it was not, because this is a dry run.`);
}
