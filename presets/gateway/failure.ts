import {
  errorKinds,
  type Gateway,
  type GatewayError,
  isJsonObject,
  type JsonObject,
  type Tool,
  type ToolResult,
} from "../../core/mod.ts";
import { httpStatusMeta } from "../../core/services/adapters.ts";
import { getOutcome, getPolicy, requestMeta } from "../../core/services/policy.ts";
import { shorten } from "../../plugins/lib/text/shorten.ts";
import { getAdapter } from "./adapter-info.ts";
import { spellToolNames } from "./options.ts";

/** The code of a result that the operation marked as an error. */
export const TOOL_ERROR = "TOOL_ERROR";

/** Suggestions by error code, for errors that have none. */
const suggestions: Readonly<Record<string, string>> = {
  TOOL_NOT_FOUND: "Use gateway.intent to find the right tool_id",
  INVALID_ARGUMENTS: "Correct params; gateway.intent with the tool_id gives the full schema",
  ARGUMENTS_TOO_LARGE: "Send less at once",
  ARGUMENTS_TOO_DEEP: "Send params that are nested less deeply",
  IDEMPOTENCY_REQUIRED: "Add options.idempotency_key, and keep it for every repetition of this very call",
  CONFIRMATION_REQUIRED: "Add confirmed: true to proceed",
  RATE_LIMITED: "Wait, then try again",
  MISSING_VARIABLE: "Ask the user to set the variable that the message names",
  CONNECT_FAILED: "Tell the user that the service cannot be reached, and try again later",
  NEEDS_AUTH: "Ask the user to log in to the server",
  NEEDS_APPROVAL: "Ask the user to approve the server",
  DENIED: "Ask the user; it cannot be allowed from here",
  TOOL_DISABLED: "Ask the user; it cannot be allowed from here",
};
const MAX_MESSAGE = 500;

/** Describes an error of the gateway, in the terms of the specification. */
export function describeError(gateway: Gateway, error: GatewayError, tool: Tool | undefined): JsonObject {
  // The unused ones are elsewhere in the answer, or only for callers that write the metadata of a request.
  const {
    suggestion,
    risk_level,
    tool: _,
    request_id: __,
    retryable: ___,
    meta_key: ____,
    ...details
  } = error.data;
  // A suggestion for the metadata of a request, in the terms of `gateway.execute`.
  const known =
    typeof suggestion === "string"
      ? suggestion.replace(`"${requestMeta.confirmation}"`, "options.confirmation")
      : suggest(error, tool);
  return {
    code: error.code,
    message: error.message,
    ...((tool && !tool.builtin) || risk_level !== undefined
      ? { risk_level: risk_level ?? (tool && getPolicy(tool).riskLevel) }
      : {}),
    suggestion: spellToolNames(gateway, known),
    // A call that was not waited for may have been done: it must not be repeated.
    retryable: error.kind.retry && (!wasAbandoned(error) || tool === undefined || isHarmless(tool)),
    ...(Object.keys(details).length > 0 && { details }),
  };
}

/** Describes a result that the operation marked as an error. */
export function describeToolError(gateway: Gateway, result: ToolResult, tool: Tool | undefined): JsonObject {
  const status = result._meta?.[httpStatusMeta];
  const text = result.content.find(({ type }) => type === "text")?.["text"];
  const known = tool && findKnownError(gateway, tool, result, status);
  return {
    code: TOOL_ERROR,
    message: shorten(String(text ?? "The operation failed and did not say why."), MAX_MESSAGE),
    ...(tool && { risk_level: getPolicy(tool).riskLevel }),
    ...(typeof status === "number" && { status }),
    ...(known?.meaning && { meaning: known.meaning }),
    suggestion:
      known?.fix ?? spellToolNames(gateway, "Read data for what went wrong, and correct params accordingly"),
    retryable: typeof status === "number" && status >= 500 && isHarmless(tool),
  };
}

function wasAbandoned(error: GatewayError): boolean {
  const { code } = error;
  const isAbandoned = code === errorKinds.TIMEOUT.code || code === errorKinds.CANCELLED.code;
  return isAbandoned && getOutcome(error) !== "not sent";
}

function isHarmless(tool: Tool | undefined): boolean {
  return tool !== undefined && getPolicy(tool).riskLevel === "low";
}

function suggest(error: GatewayError, tool: Tool | undefined): string {
  const known = Object.hasOwn(suggestions, error.code) ? suggestions[error.code] : undefined;
  if (known !== undefined) return known;
  if (!isHarmless(tool) && wasAbandoned(error)) {
    return "It may have been done all the same: check before it is repeated, and repeat it only with the same options.idempotency_key";
  }
  return error.kind.retry ? "Try again" : 'See gateway.reference with topic "errors"';
}

/** Finds what the adapter or its document documents about an error: by its own code, else by its HTTP status. */
function findKnownError(
  gateway: Gateway,
  tool: Tool,
  { structuredContent }: ToolResult,
  status: unknown,
): { readonly meaning?: string; readonly fix?: string } | undefined {
  const codes = new Set(findCodes(structuredContent, 0).map((code) => code.toLowerCase()));
  const own = getAdapter(gateway, tool.server).errors.find(({ code }) => codes.has(code.toLowerCase()));
  if (own) return own;
  const documented = tool.operation?.errors.find((error) => error.status === String(status));
  return documented && { meaning: documented.meaning };
}

/** Finds error codes where APIs write them. */
function findCodes(value: unknown, depth: number): string[] {
  if (!isJsonObject(value) || depth > 3) return [];
  return ["code", "type", "error", "body", "errors"].flatMap((key) => {
    const inner = value[key];
    return typeof inner === "string"
      ? [inner]
      : findCodes(Array.isArray(inner) ? inner[0] : inner, depth + 1);
  });
}
