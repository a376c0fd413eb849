import { type Actor, isJsonObject, type JsonObject } from "../../core/mod.ts";
import { full } from "./_asking.ts";
import { createDialogue, type Dialogue } from "./_dialogue.ts";
import type { Handler } from "./_handler.ts";
import { foreignInputOf, foreignQuestions, isQuestions, ownStateOf } from "./_input.ts";
import type { Talk } from "./_talk.ts";
import type { Underway } from "./_underway.ts";

/** A request of the newer era whose answer may be a question. */
export interface Conversed {
  readonly method: string;
  readonly params: JsonObject;
  readonly request: Underway;
  readonly actor: Actor | undefined;
  readonly send: (message: object) => unknown;
}

/** The methods whose answers may be questions. */
export const conversed: ReadonlySet<string> = new Set(["tools/call", "resources/read", "prompts/get"]);

/** Begins what a request asks for, or goes on with it, until there is a result or the client is asked something. */
export async function converse(handler: Handler, conversed: Conversed, talk: Talk): Promise<object> {
  const dialogue = dialogueOf(handler, conversed, talk);
  for (;;) {
    const outcome = await dialogue.next();
    if ("result" in outcome) {
      const { result } = outcome;
      return isQuestions(result) ? foreignQuestions(result, dialogue.capabilities) : result;
    }
    const { questions: inputRequests } = outcome;
    // Whoever wanted to know may have given up just now.
    if (Object.keys(inputRequests).length === 0) continue;
    const requestState = talk.suspended.keep(dialogue, conversed);
    if (requestState !== undefined) {
      dialogue.suspend();
      await talk.onSuspended?.(requestState);
      return { resultType: "input_required", inputRequests, requestState };
    }
    dialogue.refuse(full());
  }
}

function dialogueOf(
  handler: Handler,
  { method, params, request, actor, send }: Conversed,
  { suspended, limits }: Talk,
): Dialogue {
  const meta = isJsonObject(params["_meta"]) ? params["_meta"] : {};
  const turn = { request, meta, send };
  const state = ownStateOf(params);
  if (state !== undefined) {
    const dialogue = suspended.take(state, { method, params, actor });
    dialogue.resume(turn, params["inputResponses"]);
    return dialogue;
  }
  const begun = { id: request.id, modern: true, actor, input: foreignInputOf(params) };
  return createDialogue(
    async (part) => (await handler(params, { ...begun, ...part })) as object,
    turn,
    limits,
  );
}
