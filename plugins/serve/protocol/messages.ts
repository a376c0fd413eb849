import { isJsonObject, type JsonObject, version } from "../../../core/mod.ts";
import { JsonRpcError, type MessageLevel, messageLevels, rpcCodes, toRpcError } from "../../lib/jsonrpc.ts";

/** The id that a client gave its request. */
export type Id = string | number;

/** Returns the id of a request; undefined for anything that cannot be one. */
export function toId(value: unknown): Id | undefined {
  return typeof value === "string" || typeof value === "number" ? value : undefined;
}

/** Whether a message answers a request of ours. One with neither a method nor an answer is malformed. */
export function isAnswerMessage(message: JsonObject): boolean {
  return message["method"] === undefined && ("result" in message || "error" in message);
}

/** The legacy protocol versions, newest first: a client connects once and keeps a session. */
export const legacyVersions: readonly string[] = [
  "2025-11-25",
  "2025-06-18",
  "2025-03-26",
  "2024-11-05",
  "2024-10-07",
];
/** The modern protocol versions: every request carries the version and the capabilities of its client. */
export const modernVersions: readonly string[] = ["2026-07-28"];

/** The name and version that clients see. */
export const serverInfo: { readonly name: string; readonly version: string } = { name: "toolpipe", version };

/** Prefix of the metadata keys that MCP defines. */
export const META = "io.modelcontextprotocol/";

/** Caching hints of modern lists: the catalog can change at any moment, so a client may keep nothing. */
export const cacheable = { ttlMs: 0, cacheScope: "private" } as const;

/** The message for a result that cannot be serialized. */
export const UNWRITABLE = "The answer cannot be written as JSON.";

/** The `_meta` of a request, if it is an object. */
export function getMeta({ _meta }: JsonObject): Readonly<JsonObject> | undefined {
  return isJsonObject(_meta) ? _meta : undefined;
}

/** The modern protocol version that a request claims, if any. Throws if that version is not supported. */
export function getModernVersion(params: JsonObject): string | undefined {
  const claimed = getMeta(params)?.[`${META}protocolVersion`];
  if (claimed === undefined) return undefined;
  if (typeof claimed === "string" && modernVersions.includes(claimed)) return claimed;
  throw new JsonRpcError(rpcCodes.unsupportedVersion, "This protocol version is not supported.", {
    supported: modernVersions,
    requested: String(claimed).slice(0, 40),
  });
}

/** Whether a result holds questions instead of an answer. */
export function isQuestions(result: object): boolean {
  return (result as JsonObject)["resultType"] === "input_required";
}

/** A result in the shape of the modern protocol. */
export function toModernResult(result: object): object {
  const { _meta, resultType, ...rest } = result as { _meta?: object; resultType?: unknown };
  return {
    ...rest,
    // Any other result type is a matter between an upstream server and us.
    resultType: resultType === "input_required" ? resultType : "complete",
    _meta: { ..._meta, [`${META}serverInfo`]: serverInfo },
  };
}

/** An answer that carries an error. */
export function errorMessage(id: Id | null, thrown: unknown): object {
  return { jsonrpc: "2.0", id, error: toRpcError(thrown) };
}

/** Parses the level that a client names; undefined if there is no such level. */
export function parseLevel(value: unknown): MessageLevel | undefined {
  return messageLevels.find((level) => level === value);
}

/** Whether a client wants a notification: any but log messages below its level and those without a level. */
export function isWanted(
  method: string,
  params: Readonly<JsonObject>,
  lowest: MessageLevel | undefined,
): boolean {
  if (method !== "notifications/message") return true;
  const level = parseLevel(params["level"]);
  return (
    level !== undefined &&
    lowest !== undefined &&
    messageLevels.indexOf(level) >= messageLevels.indexOf(lowest)
  );
}
