import { GatewayError, isJsonObject, type JsonObject } from "../../../core/mod.ts";
import { type CompletionRequest, RESOURCE_NOT_FOUND } from "../../../core/services/resources.ts";
import { invalidParams, JsonRpcError, methodNotFound, rpcCodes } from "../../lib/jsonrpc.ts";
import { getPrompts, getResources, type Prompts, prepareLists, type Resources } from "../providers.ts";
import type { View } from "../view.ts";
import { cacheable, getMeta } from "./messages.ts";
import type { Handlers } from "./request.ts";

/** Handlers of the requests that concern resources; without resources these methods do not exist. */
export function resourceHandlers(view: Pick<View, "gateway">): Handlers {
  return {
    "resources/list": async (_params, { isModern, actor }) => {
      await prepareLists(view.gateway);
      const resources = await requireResources("resources/list").list({ actor });
      return { resources, ...(isModern && cacheable) };
    },
    // Some clients list them wherever there are resources, and take an error for a broken server.
    "resources/templates/list": async (_params, { isModern, actor }) => ({
      resourceTemplates: await requireResources("resources/templates/list").templates({ actor }),
      ...(isModern && cacheable),
    }),
    "resources/read": async (params, { isModern, actor, signal, client, input }) => {
      const resources = requireResources("resources/read");
      const { uri } = params;
      if (typeof uri !== "string") throw invalidParams("To read a resource takes its URI.");
      try {
        const read = await resources.read(uri, { actor, signal, client, input, meta: getMeta(params) });
        return { ...read, ...(isModern && cacheable) };
      } catch (thrown) {
        throw toReadError(thrown, uri, isModern);
      }
    },
  };

  function requireResources(method: string): Resources {
    const resources = getResources(view.gateway);
    if (!resources) throw methodNotFound(method);
    return resources;
  }
}

/** The legacy protocol has a code for a URI that does not exist; in the modern one it is an invalid parameter. */
export function toReadError(thrown: unknown, uri: string, isModern: boolean): unknown {
  if (!GatewayError.is(thrown) || thrown.code !== RESOURCE_NOT_FOUND.code) return thrown;
  const code = isModern ? rpcCodes.invalidParams : rpcCodes.resourceNotFound;
  return new JsonRpcError(code, thrown.message, { uri });
}

/** Handlers of the requests that concern prompts; without prompts these methods do not exist. */
export function promptHandlers(view: Pick<View, "gateway">): Handlers {
  return {
    "prompts/list": async (_params, { isModern, actor }) => {
      await prepareLists(view.gateway);
      const prompts = await requirePrompts("prompts/list").list({ actor });
      return { prompts, ...(isModern && cacheable) };
    },
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
