import { Buffer } from "node:buffer";
import {
  type ErrorKind,
  GatewayError,
  isJsonObject,
  type JsonObject,
  type ToolResult,
} from "../../core/mod.ts";
import { sha256 } from "./canonical.ts";

/** How a call ended, as it is kept. */
export type KeptOutcome =
  /** The result as text, so that it comes back to the letter. */
  | { readonly result: string }
  | { readonly error: { readonly kind: ErrorKind; readonly message: string; readonly data: JsonObject } }
  /** A result that was too large to be kept. */
  | { readonly digest: string; readonly bytes: number; readonly isError: boolean };

/** A result as it is kept; of one that is larger than this, only what it can be recognised by. */
export function keepResult(result: ToolResult, maxBytes: number): KeptOutcome {
  const text = textOf(result);
  const bytes = Buffer.byteLength(text);
  if (bytes <= maxBytes) return { result: text };
  return { digest: sha256(text), bytes, isError: result.isError === true };
}

/** What a function of this process answers need not be JSON. */
function textOf(result: ToolResult): string {
  try {
    return JSON.stringify(result);
  } catch {
    return JSON.stringify({
      content: [{ type: "text", text: "It was done, but its result cannot be written as JSON." }],
      isError: result.isError === true,
    });
  }
}

/** An error as it is kept: what may leave the process, and no more. */
export function keepError({ kind, message, data }: GatewayError): KeptOutcome {
  return { error: { kind, message, data: { ...data } } };
}

/** What is answered again: the result, or the error is thrown. Both say that nothing was done this time. */
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
  const text = `"${tool}" was done under this key before, and is not done again. Its result of ${bytes} bytes was too large to be kept (SHA-256 ${digest}).`;
  return {
    content: [{ type: "text", text }],
    ...(isError && { isError }),
    _meta: { replayed: true, truncated: true, bytes, digest },
  };
}

/** Whether a value is an outcome that was kept. */
export function isKeptOutcome(value: unknown): value is KeptOutcome {
  if (!isJsonObject(value)) return false;
  const { result, error, digest } = value;
  if (typeof result === "string" || typeof digest === "string") return true;
  return isJsonObject(error) && isJsonObject(error["kind"]) && typeof error["message"] === "string";
}
