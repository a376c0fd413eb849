import { Buffer } from "node:buffer";
import { GatewayError, isJsonObject, type ToolResult } from "../../core/mod.ts";
import { HIDDEN, withoutTokens } from "../_masked.ts";

/** Takes secrets out of a text. */
export type Redact = (text: string) => string;

/** What a value is nested deeper than is not shown at all. */
const MAX_DEPTH = 32;

/**
 * Makes what takes these secrets out of texts, in every form in which programs write them, and whatever can be nothing
 * but a token.
 */
export function redactor(secrets: Iterable<string>): Redact {
  const forms = new Set<string>();
  for (const secret of secrets) for (const form of formsOf(secret)) forms.add(form);
  // The longest first: one may be part of another.
  const ordered = [...forms].toSorted((a, b) => b.length - a.length);
  return (text) => {
    let left = text;
    for (const form of ordered) if (left.includes(form)) left = left.replaceAll(form, HIDDEN);
    return withoutTokens(left);
  };
}

/** The same value with every text in it redacted, the names of its fields too. */
export function redactValue(value: unknown, redact: Redact, depth = 0): unknown {
  if (typeof value === "string") return redact(value);
  if (typeof value !== "object" || value === null) return value;
  if (depth >= MAX_DEPTH) return HIDDEN;
  if (Array.isArray(value)) return value.map((one) => redactValue(one, redact, depth + 1));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [redact(name), redactValue(one, redact, depth + 1)]),
  );
}

/** The same error without secrets; the very same where it has none. */
export function redactError(error: GatewayError, redact: Redact): GatewayError {
  const message = redact(error.message);
  const data = redactValue(error.data, redact) as Readonly<Record<string, unknown>>;
  const cause = redactCause(error.cause, redact);
  const isSame =
    message === error.message && cause === error.cause && JSON.stringify(data) === JSON.stringify(error.data);
  if (isSame) return error;
  return new GatewayError(error.kind, message, { data, ...(error.cause !== undefined && { cause }) });
}

/** What a tool says of its own failure, without secrets. Other results are data, and nobody's to change. */
export function redactResult(result: ToolResult, redact: Redact): ToolResult {
  if (result.isError !== true) return result;
  return redactValue(result, redact) as ToolResult;
}

function redactCause(cause: unknown, redact: Redact, depth = 0): unknown {
  if (!(cause instanceof Error) || depth > 4) return depth > 4 ? undefined : cause;
  const inner = redactCause(cause.cause, redact, depth + 1);
  const message = redact(cause.message);
  if (message === cause.message && inner === cause.cause) return cause;
  const clean = new Error(message, inner === undefined ? {} : { cause: inner });
  clean.name = cause.name;
  if ("code" in cause) Object.assign(clean, { code: cause.code });
  // Its first lines are the message once more.
  clean.stack = redact(cause.stack ?? "");
  return clean;
}

function formsOf(secret: string): string[] {
  const inJson = JSON.stringify(secret).slice(1, -1);
  const inUrl = encodeURIComponent(secret);
  const forms = [secret, inJson, inUrl, inUrl.replaceAll("%20", "+"), Buffer.from(secret).toString("base64")];
  return forms.filter((form) => form !== "");
}
