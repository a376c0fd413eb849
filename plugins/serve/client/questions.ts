import { type CallInput, GatewayError, isJsonObject, type JsonObject } from "../../../core/mod.ts";
import { CLIENT_CANNOT, type ClientCapability } from "../../../core/services/clients.ts";
import { invalidParams, rpcCodes } from "../../lib/jsonrpc.ts";

/** Prefix of the states that we give out. */
export const OWN_STATE = "toolpipe:";
/** Prefix of an upstream server's state that looks like one of ours: a gateway may stand behind a gateway. */
const UPSTREAM = `${OWN_STATE}~`;

/** The state of a suspended call of ours that a request resumes, if it does. */
export function findOwnState({ requestState }: JsonObject): string | undefined {
  if (requestState === undefined) return undefined;
  if (typeof requestState !== "string") throw invalidParams("The requestState of a request is a string.");
  return requestState.startsWith(OWN_STATE) && !requestState.startsWith(UPSTREAM) ? requestState : undefined;
}

/** The id under which the replicas of a gateway find a state of ours. */
export function toHomeId(state: string): string {
  return `state-${state.slice(OWN_STATE.length)}`;
}

/** The part of a request that is meant for an upstream server, as it came. */
export function toUpstreamInput({ inputResponses, requestState }: JsonObject): CallInput | undefined {
  if (inputResponses === undefined && requestState === undefined) return undefined;
  const isMarked = typeof requestState === "string" && requestState.startsWith(UPSTREAM);
  return {
    ...(inputResponses !== undefined && { responses: inputResponses }),
    ...(requestState !== undefined && {
      state: isMarked ? (requestState as string).slice(UPSTREAM.length) : requestState,
    }),
  };
}

/**
 * Whether an upstream server refuses the state that came with a request. The agent can do nothing about that, but its
 * client can: it gets a protocol error, and starts again.
 */
export function isRefusedState({ data }: GatewayError, input: CallInput | undefined): boolean {
  return input?.state !== undefined && data["rpcCode"] === rpcCodes.invalidParams;
}

/** The questions of an upstream server, for a modern client. Throws if that client cannot be asked them. */
export function toClientQuestions(result: object, declared: Readonly<JsonObject>): object {
  const { inputRequests, requestState, _meta } = result as JsonObject;
  const hasState = typeof requestState === "string";
  if (inputRequests !== undefined && !isJsonObject(inputRequests)) throw invalidQuestions();
  const questions = Object.values(inputRequests ?? {});
  if (questions.length === 0 && !hasState) throw invalidQuestions();
  for (const question of questions) {
    const { method, params = {} } = isJsonObject(question) ? question : {};
    if (typeof method !== "string" || !isJsonObject(params) || !getRequired(method, params))
      throw invalidQuestions();
    checkAskable(method, params, declared);
  }
  return {
    resultType: "input_required",
    ...(inputRequests !== undefined && { inputRequests }),
    ...(hasState && {
      requestState: requestState.startsWith(OWN_STATE) ? UPSTREAM + requestState : requestState,
    }),
    ...(isJsonObject(_meta) && { _meta }),
  };
}

function invalidQuestions(): GatewayError {
  return new GatewayError("INTERNAL", "The server asked for something that no client can be asked for.");
}

/** Returns the capability that a question needs; undefined if no client can be asked such a question. */
function getRequired(method: string, params: Readonly<JsonObject>): JsonObject | undefined {
  if (method === "elicitation/create") {
    return { elicitation: params["mode"] === "url" ? { url: {} } : { form: {} } };
  }
  if (method === "sampling/createMessage") {
    const withTools = params["tools"] !== undefined || params["toolChoice"] !== undefined;
    return { sampling: withTools ? { tools: {} } : {} };
  }
  return method === "roots/list" ? { roots: {} } : undefined;
}

/** Returns the required capabilities that a client has not declared. */
function findMissing(required: Readonly<JsonObject>, declared: Readonly<JsonObject>): JsonObject | undefined {
  const missing: JsonObject = {};
  for (const [name, parts] of Object.entries(required)) {
    const has = Object.hasOwn(declared, name) ? declared[name] : undefined;
    const lacks = Object.keys(parts as object).filter((part) => !hasPart(name, part, has));
    if (!isJsonObject(has) || lacks.length > 0) missing[name] = parts;
  }
  return Object.keys(missing).length > 0 ? missing : undefined;
}

/** Whether a client declared a capability, in its simplest form. */
export function canBeAsked(capability: ClientCapability, declared: Readonly<JsonObject>): boolean {
  const required = capability === "elicitation" ? { elicitation: { form: {} } } : { [capability]: {} };
  return findMissing(required, declared) === undefined;
}

/** Throws if a client has not declared the capability to be asked this. */
export function checkAskable(
  method: string,
  params: Readonly<JsonObject>,
  declared: Readonly<JsonObject>,
): void {
  const required = getRequired(method, params);
  const missing = required ? findMissing(required, declared) : {};
  if (missing) throw clientCannot(method, missing);
}

/** The error of a client that lacks a capability. */
export function clientCannot(method: string, requiredCapabilities: JsonObject): GatewayError {
  const named = method.slice(0, 80);
  const what = Object.keys(requiredCapabilities)[0];
  const why = what
    ? `it has not declared the capability "${what}"${what === "elicitation" ? " in the form this takes" : ""}`
    : "no client can be asked for that";
  return new GatewayError(CLIENT_CANNOT, `The client cannot be asked for "${named}": ${why}.`, {
    data: { method: named, requiredCapabilities },
  });
}

function hasPart(name: string, part: string, has: unknown): boolean {
  if (!isJsonObject(has)) return false;
  // Older protocol versions know only forms, and declare them without a name.
  const isBare = name === "elicitation" && has["form"] === undefined && has["url"] === undefined;
  return has[part] !== undefined || (isBare && part === "form");
}
