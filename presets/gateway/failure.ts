import {
  defineError,
  type ErrorKind,
  errorKinds,
  type FailedCall,
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
import { explainArgumentError } from "../shared/argument-error.ts";
import { getAdapter } from "./adapter-info.ts";
import { spellToolNames } from "./options.ts";

/** The kind of a result that the operation marked as an error. */
export const TOOL_ERROR: ErrorKind = defineError("TOOL_ERROR", {
  description: "The service refused the call or failed; its answer is in `data`.",
});

/** Suggestions by error code, for errors that have none. */
const suggestions: Readonly<Record<string, string>> = {
  TOOL_NOT_FOUND: "Use gateway.intent to find the right tool_id",
  INVALID_ARGUMENTS: "Correct params; gateway.intent with the tool_id gives the full schema",
  ARGUMENTS_TOO_LARGE: "Send less at once",
  ARGUMENTS_TOO_DEEP: "Send params that are nested less deeply",
  IDEMPOTENCY_REQUIRED: "Add options.idempotency_key, and keep it for every repetition of this very call",
  CONFIRMATION_REQUIRED: "Add confirmed: true to proceed",
  RATE_LIMITED: "Wait, then try again",
  IDEMPOTENCY_KEY_INVALID: "Use 8 to 255 visible ASCII characters, such as a UUID",
  IDEMPOTENCY_MISMATCH: "Use a new key for a new call, and the same one only to repeat the very same call",
  IN_PROGRESS: "Wait, then repeat the call with the same key",
  OUTCOME_UNKNOWN: "Look at the service itself before anything is repeated with a new key",
  TOOL_ERROR: "Read data for what went wrong, and correct params accordingly",
  CONFIRMATION_INVALID: "Ask the user again, with the token of the newest refusal",
  CONFIRMATION_DECLINED: "Do not repeat the call; ask the user what to do instead",
  SCOPE_REQUIRED: "Ask the operator of the gateway for the scope that the message names",
  INTENT_DISABLED: "Use gateway.tools and gateway.execute, and tell the user what the message says",
  TIMEOUT: "Repeat it with the same options.idempotency_key, or check with the service first",
  MISSING_VARIABLE: "Ask the user to set the variable that the message names",
  CONNECT_FAILED: "Tell the user that the service cannot be reached, and try again later",
  NEEDS_AUTH: "Ask the user to log in to the server",
  NEEDS_APPROVAL: "Ask the user to approve the server",
  DENIED: "Ask the user; it cannot be allowed from here",
  TOOL_DISABLED: "Ask the user; it cannot be allowed from here",
};
const MAX_MESSAGE = 500;

/** Whether a kind of failure has a fix of its own. */
export function hasFix({ code }: ErrorKind): boolean {
  return Object.hasOwn(suggestions, code);
}

/** Returns the general fix of a kind of failure. */
export function getFix({ code, retry }: ErrorKind): string {
  const own = Object.hasOwn(suggestions, code) ? suggestions[code] : undefined;
  return own ?? (retry ? "Try again later" : "Tell the user what the message says");
}

/** Answers a failed call of one of the five tools or, in full mode, of an operation. */
export function answerFailure(gateway: Gateway, call: FailedCall): ToolResult {
  const { tool, stage } = call;
  const isWrong = stage === "validate" && call.error.code === errorKinds.INVALID_ARGUMENTS.code;
  const error = isWrong && tool ? explainArgumentError(call.error, tool, call.args) : call.error;
  const described = describeError(gateway, error, tool);
  const meta = tool && !tool.builtin ? error.data["meta_key"] : undefined;
  const body = {
    success: false,
    error: {
      ...described,
      // A call of an operation itself has no options, so the client sends them with the request.
      ...(typeof meta === "string" && {
        suggestion: `${String(described["suggestion"])} Send it as "${meta}" in the _meta of the request.`,
      }),
    },
    next_step:
      tool && !tool.builtin
        ? describeDirectAttempt(error.code, tool)
        : describeNextAttempt(gateway, error.code, tool),
  };
  return { content: [{ type: "text", text: JSON.stringify(body) }], isError: true };
}

const ONCE_MORE = "Follow error.suggestion, then call gateway.execute again";
const nextAttempts: Readonly<Record<string, string>> = {
  TOOL_NOT_FOUND: "Use gateway.intent with your task, or gateway.adapters to see what there is",
  INVALID_ARGUMENTS: ONCE_MORE,
  IDEMPOTENCY_REQUIRED: ONCE_MORE,
  IDEMPOTENCY_KEY_INVALID: ONCE_MORE,
  CONFIRMATION_REQUIRED: ONCE_MORE,
  TOOL_ERROR: ONCE_MORE,
  OUTCOME_UNKNOWN: "Check with the service whether it was done before anything is repeated",
};

/** Describes the next step after a failure. */
export function describeNextAttempt(gateway: Gateway, code: string, tool: Tool | undefined): string {
  const own = Object.hasOwn(nextAttempts, code) ? nextAttempts[code] : undefined;
  const next =
    tool?.builtin && own === ONCE_MORE
      ? `Follow error.suggestion, then call ${tool.name} again`
      : (own ?? 'Follow error.suggestion; gateway.reference with topic "errors" explains the code');
  return spellToolNames(gateway, next);
}

/** Describes the next step after a failure in full mode, where an operation is called itself and the five tools are not there. */
function describeDirectAttempt(code: string, { name }: Tool): string {
  const own = Object.hasOwn(nextAttempts, code) ? nextAttempts[code] : undefined;
  if (own === ONCE_MORE) return `Follow error.suggestion, then call ${name} again`;
  return own ?? "Follow error.suggestion";
}

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
  const text = isHttpResult(result) ? describeHttpFailure(result) : findText(result);
  const known = tool && findKnownError(gateway, tool, result, status);
  return {
    code: TOOL_ERROR.code,
    message: shorten(String(text ?? "The operation failed and did not say why."), MAX_MESSAGE),
    ...(tool && { risk_level: getPolicy(tool).riskLevel }),
    ...(typeof status === "number" && { status }),
    ...(known?.meaning && { meaning: known.meaning }),
    suggestion: known?.fix ?? spellToolNames(gateway, String(suggestions["TOOL_ERROR"])),
    retryable: typeof status === "number" && status >= 500 && isHarmless(tool),
  };
}

/** Whether a result is the response of a REST API. */
export function isHttpResult({ _meta }: ToolResult): boolean {
  return typeof _meta?.[httpStatusMeta] === "number";
}

function findText({ content }: ToolResult): unknown {
  return content.find(({ type }) => type === "text")?.["text"];
}

/** Describes the failure of an API: its status, and its own message if it has one. The body is in the data. */
function describeHttpFailure(result: ToolResult): string {
  const [status = ""] = String(findText(result) ?? "").split("\n");
  const { structuredContent: data } = result;
  const message = findMessage(isJsonObject(data) ? data["body"] : undefined, 0);
  return message === undefined ? status : `${status}: ${message}`;
}

/** Finds the message of an error where APIs write it. */
function findMessage(value: unknown, depth: number): string | undefined {
  if (!isJsonObject(value) || depth > 3) return undefined;
  for (const key of ["message", "error", "detail", "title", "error_description", "errors"]) {
    const inner = Array.isArray(value[key]) ? value[key][0] : value[key];
    const found = typeof inner === "string" && inner !== "" ? inner : findMessage(inner, depth + 1);
    if (found !== undefined) return found;
  }
  return undefined;
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
  if (tool?.builtin && error.code === errorKinds.INVALID_ARGUMENTS.code) {
    return `Correct the arguments of ${tool.name}, as the message says`;
  }
  const known = Object.hasOwn(suggestions, error.code) ? suggestions[error.code] : undefined;
  if (known !== undefined && !wasAbandoned(error)) return known;
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
