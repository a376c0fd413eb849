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
import { getPolicy, requestMeta } from "../../core/services/policy.ts";
import { shorten } from "../../plugins/lib/text/shorten.ts";
import { adapterInfo } from "./adapter-info.ts";
import { say } from "./options-of.ts";

/** The code of a failure that is the operation's own. */
export const TOOL_ERROR = "TOOL_ERROR";

/** What can be done about a failure, where it does not say so itself. */
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

/** A failure of the gateway, in the words of the specification. */
export function errorOf(gateway: Gateway, error: GatewayError, tool: Tool | undefined): JsonObject {
  // What is said of it elsewhere in the answer, or is only for those who write the metadata of a request.
  const {
    suggestion,
    risk_level,
    tool: _,
    request_id: __,
    retryable: ___,
    meta_key: ____,
    ...details
  } = error.data;
  const known = typeof suggestion === "string" ? inOptions(suggestion) : suggestionFor(error, tool);
  return {
    code: error.code,
    message: error.message,
    ...((tool && !tool.builtin) || risk_level !== undefined
      ? { risk_level: risk_level ?? (tool && getPolicy(tool).riskLevel) }
      : {}),
    suggestion: say(gateway, known),
    retryable: error.kind.retry && !mayBeDone(error, tool),
    ...(Object.keys(details).length > 0 && { details }),
  };
}

/** Whether a call that nobody waited for to its end may have changed something: then it is not to be repeated. */
function mayBeDone({ code }: GatewayError, tool: Tool | undefined): boolean {
  const isLeft = code === errorKinds.TIMEOUT.code || code === errorKinds.CANCELLED.code;
  return isLeft && tool !== undefined && getPolicy(tool).riskLevel !== "low";
}

/** A suggestion for the metadata of a request, in the words of whoever calls by `gateway.execute`. */
function inOptions(suggestion: string): string {
  return suggestion.replace(`"${requestMeta.confirmation}"`, "options.confirmation");
}

/** A failure that the operation itself tells of, with what is known of it. */
export function ownErrorOf(gateway: Gateway, result: ToolResult, tool: Tool | undefined): JsonObject {
  const status = result._meta?.[httpStatusMeta];
  const text = result.content.find(({ type }) => type === "text")?.["text"];
  const known = tool && knownError(gateway, tool, result, status);
  return {
    code: TOOL_ERROR,
    message: shorten(String(text ?? "The operation failed and did not say why."), MAX_MESSAGE),
    ...(tool && { risk_level: getPolicy(tool).riskLevel }),
    ...(typeof status === "number" && { status }),
    ...(known?.meaning && { meaning: known.meaning }),
    suggestion: known?.fix ?? say(gateway, "Read data for what went wrong, and correct params accordingly"),
    retryable:
      typeof status === "number" &&
      status >= 500 &&
      tool !== undefined &&
      getPolicy(tool).riskLevel === "low",
  };
}

function suggestionFor({ code, kind }: GatewayError, tool: Tool | undefined): string {
  const known = Object.hasOwn(suggestions, code) ? suggestions[code] : undefined;
  if (known !== undefined) return known;
  const isHarmless = tool !== undefined && getPolicy(tool).riskLevel === "low";
  if (!isHarmless && (code === "TIMEOUT" || code === "CANCELLED")) {
    return "It may have been done all the same: check before it is repeated, and repeat it only with the same options.idempotency_key";
  }
  return kind.retry ? "Try again" : 'See gateway.reference with topic "errors"';
}

/** What the adapter or its document says of an error: by its own code, else by its HTTP status. */
function knownError(
  gateway: Gateway,
  tool: Tool,
  { structuredContent }: ToolResult,
  status: unknown,
): { readonly meaning?: string; readonly fix?: string } | undefined {
  const codes = new Set(codesIn(structuredContent, 0).map((code) => code.toLowerCase()));
  const own = adapterInfo(gateway, tool.server).errors.find(({ code }) => codes.has(code.toLowerCase()));
  if (own) return own;
  const { errors = [] } = tool.operation ?? {};
  const told = errors.find((error) => error.status === String(status));
  return told && { meaning: told.meaning };
}

/** Where APIs write which error it is. */
function codesIn(value: unknown, depth: number): string[] {
  if (!isJsonObject(value) || depth > 3) return [];
  return ["code", "type", "error", "body", "errors"].flatMap((key) => {
    const inner = value[key];
    return typeof inner === "string" ? [inner] : codesIn(Array.isArray(inner) ? inner[0] : inner, depth + 1);
  });
}
