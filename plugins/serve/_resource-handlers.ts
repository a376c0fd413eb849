import { GatewayError } from "../../core/mod.ts";
import { cacheable, type Handlers, invalid, metaIn, notFound } from "./_handler.ts";
import type { Front } from "./front.ts";
import { RpcError, rpcCodes } from "./protocol.ts";
import { RESOURCE_NOT_FOUND, type Resources } from "./resources.ts";

/** What clients ask of resources; where the gateway has none, there are no such methods. */
export function resourceHandlers(front: Pick<Front, "resources">): Handlers {
  const resourcesFor = (method: string): Resources => {
    const resources = front.resources();
    if (!resources) throw notFound(method);
    return resources;
  };

  return {
    "resources/list": async (_params, { modern, actor }) => ({
      resources: await resourcesFor("resources/list").list({ actor }),
      ...(modern && cacheable),
    }),
    // Some clients ask for them wherever there are resources, and take an error for a broken server.
    "resources/templates/list": async (_params, { modern, actor }) => ({
      resourceTemplates: await resourcesFor("resources/templates/list").templates({ actor }),
      ...(modern && cacheable),
    }),
    "resources/read": async ({ uri, _meta }, { modern, actor, cancellation, client, input }) => {
      const resources = resourcesFor("resources/read");
      if (typeof uri !== "string") throw invalid("A reading needs a URI.");
      try {
        const read = await resources.read(uri, {
          actor,
          signal: cancellation.signal,
          client,
          input,
          meta: metaIn(_meta),
        });
        return { ...read, ...(modern && cacheable) };
      } catch (thrown) {
        throw readingError(thrown, uri, modern);
      }
    },
  };
}

/** The older era has a code of its own for a URI that leads nowhere; in the newer one it is a wrong parameter. */
export function readingError(thrown: unknown, uri: string, modern: boolean): unknown {
  if (!GatewayError.is(thrown) || thrown.code !== RESOURCE_NOT_FOUND.code) return thrown;
  const code = modern ? rpcCodes.invalidParams : rpcCodes.resourceNotFound;
  return new RpcError(code, thrown.message, { uri });
}
