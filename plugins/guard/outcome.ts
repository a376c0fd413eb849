import { Buffer } from "node:buffer";
import {
  type ErrorKind,
  GatewayError,
  isJsonObject,
  type JsonObject,
  type ToolResult,
} from "../../core/mod.ts";
import { sha256Hex } from "../lib/hash.ts";

/** The stored outcome of a call. */
export type KeptOutcome =
  /** The result as JSON, so that it is replayed byte for byte. */
  | { readonly result: string }
  | { readonly error: { readonly kind: ErrorKind; readonly message: string; readonly data: JsonObject } }
  /** A result that was too large to be stored. */
  | { readonly digest: string; readonly bytes: number; readonly isError: boolean };

/** Converts a result for storage; of a larger one only its hash is stored. */
export function keepResult(result: ToolResult, maxBytes: number): KeptOutcome {
  const text = toJson(result);
  const bytes = Buffer.byteLength(text);
  if (bytes <= maxBytes) return { result: text };
  return { digest: sha256Hex(text), bytes, isError: result.isError === true };
}

/** Serializes a result. A tool of this process may return values that JSON cannot hold. */
function toJson(result: ToolResult): string {
  try {
    return JSON.stringify(result);
  } catch {
    return JSON.stringify({
      content: [{ type: "text", text: "It was done, but its result cannot be written as JSON." }],
      isError: result.isError === true,
    });
  }
}

/** Converts an error for storage: only what may leave the process. */
export function keepError({ kind, message, data }: GatewayError): KeptOutcome {
  return { error: { kind, message, data: { ...data } } };
}

/** Returns the stored result, or throws the stored error, marked as replayed. */
export function replay(kept: KeptOutcome, tool: string): ToolResult {
  if ("error" in kept) {
    const { kind, message, data } = kept.error;
    throw new GatewayError(kind, message, { data: { ...data, replayed: true } });
  }
  if ("result" in kept) {
    const result = JSON.parse(kept.result) as ToolResult;
    return { ...result, _meta: { ...result._meta, replayed: true } };
  }
  const { digest, bytes, isError } = kept;
  const text = `"${tool}" was done under this key before, and is not done again. Its result of ${bytes} bytes was too large to be stored (SHA-256 ${digest}).`;
  return {
    content: [{ type: "text", text }],
    ...(isError && { isError }),
    _meta: { replayed: true, truncated: true, bytes, digest },
  };
}

/** Whether a value is a stored outcome. */
export function isKeptOutcome(value: unknown): value is KeptOutcome {
  if (!isJsonObject(value)) return false;
  const { result, error, digest } = value;
  if (typeof result === "string" || typeof digest === "string") return true;
  return isJsonObject(error) && isJsonObject(error["kind"]) && typeof error["message"] === "string";
}
