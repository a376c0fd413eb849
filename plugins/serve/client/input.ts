import { type CallInput, GatewayError, isJsonObject, type JsonObject } from "../../../core/mod.ts";
import { invalidParams, rpcCodes } from "../../lib/jsonrpc.ts";
import { checkAskable, getRequired } from "./capability.ts";

/** Prefix of the states that we give out. */
export const OWN_STATE = "toolpipe:";
/** Prefix of an upstream server's state that looks like one of ours: a gateway may stand behind a gateway. */
const UPSTREAM = `${OWN_STATE}~`;

/** Whether a result holds questions instead of an answer. */
export function isQuestions(result: object): boolean {
  return (result as JsonObject)["resultType"] === "input_required";
}

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
