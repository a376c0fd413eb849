import { isJsonObject, type JsonObject } from "../../../core/mod.ts";
import type { CompletionRequest } from "../../../core/services/resources.ts";
import { invalidParams, methodNotFound } from "../../lib/jsonrpc.ts";
import { getPrompts, type Prompts } from "../providers.ts";
import type { View } from "../view.ts";
import { cacheable, getMeta } from "./messages.ts";
import type { Handlers } from "./request.ts";

/** Handlers of the requests that concern prompts; without prompts these methods do not exist. */
export function promptHandlers(view: Pick<View, "gateway">): Handlers {
  return {
    "prompts/list": async (_params, { isModern, actor }) => ({
      prompts: await requirePrompts("prompts/list").list({ actor }),
      ...(isModern && cacheable),
    }),
    "prompts/get": async (params, { actor, signal, client, input }) => {
      const prompts = requirePrompts("prompts/get");
      const { name, arguments: args = {} } = params;
      if (typeof name !== "string") throw invalidParams("To get a prompt takes its name.");
      if (!isJsonObject(args)) throw invalidParams("The arguments of a prompt are an object.");
      return prompts.get(name, args, { actor, signal, client, input, meta: getMeta(params) });
    },
    "completion/complete": async (params, { actor, signal, client }) => {
      const prompts = requirePrompts("completion/complete");
      if (!prompts.canComplete) throw methodNotFound("completion/complete");
      const options = { actor, signal, client, meta: getMeta(params) };
      return { completion: await prompts.complete(parseCompletion(params), options) };
    },
  };

  function requirePrompts(method: string): Prompts {
    const prompts = getPrompts(view.gateway);
    if (!prompts) throw methodNotFound(method);
    return prompts;
  }
}

function parseCompletion({ ref, argument, context }: JsonObject): CompletionRequest {
  const { name, value } = isJsonObject(argument) ? argument : {};
  if (typeof name !== "string" || typeof value !== "string") {
    throw invalidParams("What to complete is an argument with a name and a value.");
  }
  const completed = { argument: { name, value }, ...(isJsonObject(context) && { context }) };
  const { type, name: prompt, uri } = isJsonObject(ref) ? ref : {};
  if (type === "ref/prompt" && typeof prompt === "string")
    return { ref: { type, name: prompt }, ...completed };
  if (type === "ref/resource" && typeof uri === "string") return { ref: { type, uri }, ...completed };
  throw invalidParams("A completion names a prompt, or the URI template of a resource.");
}
