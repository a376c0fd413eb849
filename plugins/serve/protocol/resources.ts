import { GatewayError } from "../../../core/mod.ts";
import { RESOURCE_NOT_FOUND } from "../../../core/services/resources.ts";
import { invalidParams, methodNotFound, RpcError, rpcCodes } from "../../lib/jsonrpc.ts";
import { getResources, type Resources } from "../providers.ts";
import type { View } from "../view.ts";
import { cacheable, getMeta } from "./messages.ts";
import type { Handlers } from "./request.ts";

/** Handlers of the requests that concern resources; without resources these methods do not exist. */
export function resourceHandlers(view: Pick<View, "gateway">): Handlers {
  return {
    "resources/list": async (_params, { isModern, actor }) => ({
      resources: await requireResources("resources/list").list({ actor }),
      ...(isModern && cacheable),
    }),
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
  return new RpcError(code, thrown.message, { uri });
}
