import { isJsonObject, type JsonObject } from "../../core/mod.ts";
import { cacheable, type Handlers, invalid, metaIn, notFound } from "./_handler.ts";
import type { Front } from "./front.ts";
import type { CompletionRequest, Prompts } from "./prompts.ts";

/** What clients ask of prompts; where the gateway has none, there are no such methods. */
export function promptHandlers(front: Pick<Front, "prompts">): Handlers {
  const promptsFor = (method: string): Prompts => {
    const prompts = front.prompts();
    if (!prompts) throw notFound(method);
    return prompts;
  };

  return {
    "prompts/list": async (_params, { modern, actor }) => ({
      prompts: await promptsFor("prompts/list").list({ actor }),
      ...(modern && cacheable),
    }),
    "prompts/get": async ({ name, arguments: args = {}, _meta }, { actor, cancellation, client, input }) => {
      const prompts = promptsFor("prompts/get");
      if (typeof name !== "string") throw invalid("To get a prompt takes its name.");
      if (!isJsonObject(args)) throw invalid("The arguments of a prompt are an object.");
      return prompts.get(name, args, {
        actor,
        signal: cancellation.signal,
        client,
        input,
        meta: metaIn(_meta),
      });
    },
    "completion/complete": async (params, { actor, cancellation, client }) => {
      const prompts = promptsFor("completion/complete");
      if (!prompts.canComplete) throw notFound("completion/complete");
      const options = { actor, signal: cancellation.signal, client, meta: metaIn(params["_meta"]) };
      return { completion: await prompts.complete(completionIn(params), options) };
    },
  };
}

function completionIn({ ref, argument, context }: JsonObject): CompletionRequest {
  const { name, value } = isJsonObject(argument) ? argument : {};
  if (typeof name !== "string" || typeof value !== "string") {
    throw invalid("What to complete is an argument with a name and a value.");
  }
  const what = { argument: { name, value }, ...(isJsonObject(context) && { context }) };
  const { type, name: prompt, uri } = isJsonObject(ref) ? ref : {};
  if (type === "ref/prompt" && typeof prompt === "string") return { ref: { type, name: prompt }, ...what };
  if (type === "ref/resource" && typeof uri === "string") return { ref: { type, uri }, ...what };
  throw invalid("What is completed belongs to a prompt or to the template of a resource.");
}
