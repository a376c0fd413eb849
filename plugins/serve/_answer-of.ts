import type { CallInput, SettledCall, Tool, ToolResult } from "../../core/mod.ts";
import { cannot } from "./_capability.ts";
import { invalid } from "./_handler.ts";
import { isQuestions, isRefusedState } from "./_input.ts";
import { resultOf } from "./_result-of.ts";
import { CLIENT_CANNOT, type Client } from "./client.ts";

/** What a client asked for, and who it is. */
export interface Asked {
  readonly tool: Tool;
  readonly client: Pick<Client, "era"> | undefined;
  readonly input: CallInput | undefined;
}

/** What a client is answered when its call is over. Throws where the request itself was wrong. */
export function answerOf(settled: SettledCall, { tool, client, input }: Asked): ToolResult {
  const isModern = client?.era === "modern";
  if (settled.ok) {
    if (isModern || !isQuestions(settled.result)) return settled.result;
    // A client of the older era cannot be handed questions; whoever asks them has to ask it themselves.
    const error = cannot("input_required", {});
    return resultOf({ ...settled, ok: false, result: undefined, error });
  }
  // A call of the gateway's own tool that never came to its execution was wrong in itself.
  if (tool.builtin && settled.stage !== "execute") throw settled.error;
  // The newer era has an error of its own for what a client cannot do, by which it knows what it lacks.
  if (isModern && settled.error.code === CLIENT_CANNOT.code) throw settled.error;
  if (isModern && isRefusedState(settled.error, input)) throw invalid(settled.error.message);
  return resultOf(settled);
}
