import { type CallInput, GatewayError, isJsonObject, type JsonObject } from "../../core/mod.ts";
import { checkAskable, requiredFor } from "./_capability.ts";
import { invalid } from "./_handler.ts";
import { rpcCodes } from "./protocol.ts";

/** What the states that we give out begin with. */
export const OWN_STATE = "toolpipe:";
/** Goes before a state of somebody behind us that looks like one of ours: a gateway may stand behind a gateway. */
const FOREIGN = `${OWN_STATE}~`;

/** Whether a result is no answer but questions. */
export function isQuestions(result: object): boolean {
  return (result as JsonObject)["resultType"] === "input_required";
}

/** The state of a dialogue of ours that a request goes on with, if it does. */
export function ownStateOf({ requestState }: JsonObject): string | undefined {
  if (requestState === undefined) return undefined;
  if (typeof requestState !== "string") throw invalid("The requestState of a request is a text.");
  return requestState.startsWith(OWN_STATE) && !requestState.startsWith(FOREIGN) ? requestState : undefined;
}

/** Names a state of ours among the replicas of a gateway. */
export function placeOfState(state: string): string {
  return `state-${state.slice(OWN_STATE.length)}`;
}

/** What a request brings for somebody behind us, as it came. */
export function foreignInputOf({ inputResponses, requestState }: JsonObject): CallInput | undefined {
  if (inputResponses === undefined && requestState === undefined) return undefined;
  const isMarked = typeof requestState === "string" && requestState.startsWith(FOREIGN);
  return {
    ...(inputResponses !== undefined && { responses: inputResponses }),
    ...(requestState !== undefined && {
      state: isMarked ? (requestState as string).slice(FOREIGN.length) : requestState,
    }),
  };
}

/**
 * Whether the server behind us does not take back the state that came with a request. An agent can do nothing about
 * that, but its client can: it is told by an error of the protocol, and begins anew.
 */
export function isRefusedState({ data }: GatewayError, input: CallInput | undefined): boolean {
  return input?.state !== undefined && data["rpcCode"] === rpcCodes.invalidParams;
}

/** The questions of somebody behind us, as they are handed to a client of the newer era. Throws where it cannot be asked. */
export function foreignQuestions(result: object, declared: Readonly<JsonObject>): object {
  const { inputRequests, requestState, _meta } = result as JsonObject;
  const hasState = typeof requestState === "string";
  if (inputRequests !== undefined && !isJsonObject(inputRequests)) throw senseless();
  const questions = Object.values(inputRequests ?? {});
  if (questions.length === 0 && !hasState) throw senseless();
  for (const question of questions) {
    const { method, params = {} } = isJsonObject(question) ? question : {};
    if (typeof method !== "string" || !isJsonObject(params) || !requiredFor(method, params))
      throw senseless();
    checkAskable(method, params, declared);
  }
  return {
    resultType: "input_required",
    ...(inputRequests !== undefined && { inputRequests }),
    ...(hasState && {
      requestState: requestState.startsWith(OWN_STATE) ? FOREIGN + requestState : requestState,
    }),
    ...(isJsonObject(_meta) && { _meta }),
  };
}

function senseless(): GatewayError {
  return new GatewayError("INTERNAL", "The server asked for something that no client can be asked for.");
}
