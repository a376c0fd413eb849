import { isJsonObject, type JsonObject } from "../../core/mod.ts";
import type { UpstreamRequestOptions } from "../../core/services/servers.ts";
import { type MessageLevel, messageLevels } from "../lib/jsonrpc.ts";

const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
const LOG_LEVEL = "io.modelcontextprotocol/logLevel";
/** Keys that belong to the connection that a request came in on. */
const ownMeta = new Set([
  "progressToken",
  "io.modelcontextprotocol/protocolVersion",
  "io.modelcontextprotocol/clientInfo",
  CAPABILITIES,
  LOG_LEVEL,
]);

/**
 * Completes the parameters of a request, in place, as they are sent. A modern server is told with each request what the client it is
 * made for can be asked, and gets answers to its earlier questions as they came.
 */
export function completeParams(
  params: JsonObject,
  options: Pick<UpstreamRequestOptions, "meta" | "client" | "input">,
  modern: boolean,
): JsonObject {
  const { meta } = options;
  const passed = toOutgoingMeta(meta);
  if (passed) params["_meta"] = passed;
  if (!modern) return params;
  const { client, input } = options;
  // A legacy client that never set a level gets most messages.
  const level = getLogLevel({ meta, client }) ?? (client?.protocol === "legacy" ? "info" : undefined);
  params["_meta"] = {
    ...passed,
    [CAPABILITIES]: askable(client?.capabilities),
    ...(level !== undefined && { [LOG_LEVEL]: level }),
  };
  if (input?.responses !== undefined) params["inputResponses"] = input.responses;
  if (input?.state !== undefined) params["requestState"] = input.state;
  return params;
}

function toOutgoingMeta(meta: Readonly<JsonObject> | undefined): JsonObject | undefined {
  // Most have none, or only keys of their own connection.
  if (!meta || Object.keys(meta).every((key) => ownMeta.has(key))) return undefined;
  return Object.fromEntries(Object.entries(meta).filter(([key]) => !ownMeta.has(key)));
}

/** Returns the log level of the client that a request is made for, if it set one. */
export function getLogLevel({ meta, client }: Pick<UpstreamRequestOptions, "meta" | "client">): unknown {
  return client?.protocol === "modern" ? meta?.[LOG_LEVEL] : client?.logLevel;
}

/** Picks the capabilities of a client that servers may use. Changes of its roots are not passed on. */
function askable(capabilities: Readonly<JsonObject> | undefined): JsonObject {
  const { elicitation, sampling, roots } = capabilities ?? {};
  return {
    ...(isJsonObject(elicitation) && { elicitation }),
    ...(isJsonObject(sampling) && { sampling }),
    ...(isJsonObject(roots) && { roots: {} }),
  };
}

/**
 * Keeps the log level of a legacy server at the lowest that any client wants: all clients share the connection, and each
 * gets only the messages of its own level.
 */
export function createLogLevel(
  setLevel: (level: string) => Promise<unknown>,
): (level: unknown) => Promise<void> {
  let current: number | undefined;
  return async (level) => {
    const wanted = messageLevels.indexOf(String(level) as MessageLevel);
    if (wanted < 0 || (current !== undefined && current <= wanted)) return;
    const before = current;
    current = wanted;
    try {
      await setLevel(String(level));
    } catch {
      // Missing log messages must not fail the call.
      current = before;
    }
  };
}
