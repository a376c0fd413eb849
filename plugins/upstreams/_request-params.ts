import { isJsonObject, type JsonObject } from "../../core/mod.ts";
import type { UpstreamRequestOptions } from "./upstream.ts";

const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
const LOG_LEVEL = "io.modelcontextprotocol/logLevel";
/** Belongs to the connection a request came in on, not to the one it goes out on. */
const ownMeta = new Set([
  "progressToken",
  "io.modelcontextprotocol/protocolVersion",
  "io.modelcontextprotocol/clientInfo",
  CAPABILITIES,
  LOG_LEVEL,
]);

/**
 * The parameters of a request as they are sent. A server of the newer era is told with each of them what whoever it is
 * made for can be asked, and answers to what it asked before are handed back to it as they came.
 */
export function paramsOf(
  params: Readonly<JsonObject>,
  options: Pick<UpstreamRequestOptions, "meta" | "client" | "input">,
  modern: boolean,
): JsonObject {
  const { meta } = options;
  const passed = passedOn(meta);
  if (!modern) return passed ? { ...params, _meta: passed } : { ...params };
  const { client, input } = options;
  // One of the older era that never said how much it wants to hear is told most of it.
  const level = levelOf({ meta, client }) ?? (client?.era === "legacy" ? "info" : undefined);
  const _meta = {
    ...passed,
    [CAPABILITIES]: askable(client?.capabilities),
    ...(level !== undefined && { [LOG_LEVEL]: level }),
  };
  return {
    ...params,
    _meta,
    ...(input?.responses !== undefined && { inputResponses: input.responses }),
    ...(input?.state !== undefined && { requestState: input.state }),
  };
}

function passedOn(meta: Readonly<JsonObject> | undefined): JsonObject | undefined {
  // Most have none, or only what belongs to their own connection.
  if (!meta || Object.keys(meta).every((key) => ownMeta.has(key))) return undefined;
  return Object.fromEntries(Object.entries(meta).filter(([key]) => !ownMeta.has(key)));
}

/** How serious a message must be for whoever a request is made for, where that one said so. */
export function levelOf({ meta, client }: Pick<UpstreamRequestOptions, "meta" | "client">): unknown {
  return client?.era === "modern" ? meta?.[LOG_LEVEL] : client?.logLevel;
}

/** What can be passed on of what a client says that it can do. That its roots change is not told to servers. */
export function askable(capabilities: Readonly<JsonObject> | undefined): JsonObject {
  const { elicitation, sampling, roots } = capabilities ?? {};
  return {
    ...(isJsonObject(elicitation) && { elicitation }),
    ...(isJsonObject(sampling) && { sampling }),
    ...(isJsonObject(roots) && { roots: {} }),
  };
}
