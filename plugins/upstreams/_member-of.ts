import type { Gateway, JsonObject } from "../../core/mod.ts";
import { thisMachine } from "../sources/machine.ts";
import type { ServerConfig } from "../sources/server-config.ts";
import { stateFolder } from "../state/mod.ts";
import { holdBack } from "./approval.ts";
import { connectServer } from "./connect.ts";
import type { Member } from "./fleet.ts";

/** A server of the fleet, as it is defined. */
export async function memberOf(gateway: Gateway, config: ServerConfig): Promise<Member> {
  return {
    config,
    held: await holdBack(gateway, config),
    connect: (events, prior, signal) =>
      connectServer(config, {
        machine: thisMachine(),
        stateFolder: stateFolder(),
        events,
        prior,
        signal,
        capabilities: relayable(gateway),
      }),
  };
}

/**
 * What a server of the older era is told when it is connected to. It is what the gateway can pass on: whether the client
 * of a call can be asked is known only then, and a question that it cannot answer is refused with a reason. Roots are
 * kept by servers for as long as the connection lasts, which several clients share: one's folders are not another's.
 */
function relayable({ services }: Gateway): JsonObject {
  if (!services.clients) return {};
  const asked = { elicitation: { form: {}, url: {} }, sampling: {} };
  return services.clients.isShared ? asked : { ...asked, roots: {} };
}
