import { GatewayError } from "../../core/mod.ts";
import { cacheable, type Handler, notFound } from "./_handler.ts";
import type { Front } from "./front.ts";
import { RpcError, rpcCodes } from "./protocol.ts";
import { RESOURCE_NOT_FOUND, type Resources } from "./resources.ts";

/** What clients ask of resources; where the gateway has none, there are no such methods. */
export function resourceHandlers(front: Pick<Front, "resources">): Readonly<Record<string, Handler>> {
  const resourcesFor = (method: string): Resources => {
    const resources = front.resources();
    if (!resources) throw notFound(method);
    return resources;
  };

  return {
    "resources/list": async (_params, { modern }) => ({
      resources: await resourcesFor("resources/list").list(),
      ...(modern && cacheable),
    }),
    // Some clients ask for them wherever there are resources, and take an error for a broken server.
    "resources/templates/list": (_params, { modern }) => {
      resourcesFor("resources/templates/list");
      return { resourceTemplates: [], ...(modern && cacheable) };
    },
    "resources/read": async ({ uri }, { abort, modern }) => {
      const resources = resourcesFor("resources/read");
      if (typeof uri !== "string") throw new RpcError(rpcCodes.invalidParams, "A reading needs a URI.");
      try {
        return { ...(await resources.read(uri, { signal: abort.signal })), ...(modern && cacheable) };
      } catch (thrown) {
        throw readingError(thrown, uri, modern);
      }
    },
  };
}

/** The older era has a code of its own for a URI that leads nowhere; in the newer one it is a wrong parameter. */
function readingError(thrown: unknown, uri: string, modern: boolean): unknown {
  if (!GatewayError.is(thrown) || thrown.code !== RESOURCE_NOT_FOUND.code) return thrown;
  const code = modern ? rpcCodes.invalidParams : rpcCodes.resourceNotFound;
  return new RpcError(code, thrown.message, { uri });
}
