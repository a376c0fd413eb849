import { type Call, type Gateway, isJsonObject } from "../../core/mod.ts";
import type { Elicit, ElicitAnswer } from "../guard/elicit.ts";
import type {} from "../timeout.ts";
import type { ServedClient } from "./_served-client.ts";
import type { Client, Clients } from "./client.ts";

const actions: readonly unknown[] = ["accept", "decline", "cancel"];

/** Finds the clients behind the calls of a gateway. */
export function clientsFor(gateway: Gateway, served: (call: Call) => ServedClient | undefined): Clients {
  return {
    of(call) {
      const client = served(call);
      return client && forCall(client, call, gateway);
    },
  };
}

/** Asks the person behind a call, where the client that it came from can do that. */
export function elicitBy(clients: Clients): Elicit {
  return {
    can: (call) => clients.of(call)?.can("elicitation") === true,
    async ask(message, requestedSchema, call) {
      const client = clients.of(call);
      // Whoever asks has seen that somebody can be asked; in between they may have gone, which is no consent.
      if (!client) return { action: "cancel" };
      return answerIn(await client.ask("elicitation/create", { message, requestedSchema }));
    },
  };
}

function forCall(client: ServedClient, call: Call, { services }: Gateway): Client {
  return {
    era: client.era,
    // Where there is only one client, it is known who asks, also in the newer era.
    peer: client.peer ?? (services.clients?.isShared === false ? services : undefined),
    get logLevel() {
      return client.logLevel;
    },
    get info() {
      return client.info;
    },
    get capabilities() {
      return client.capabilities;
    },
    can: (capability) => client.can(capability),
    async ask(method, params, options) {
      const resumes: (() => void)[] = [];
      const { timeouts } = services;
      for (let at: Call | undefined = call; at && timeouts; at = at.parent) resumes.push(timeouts.pause(at));
      try {
        return await client.ask(method, params, { ...options, callSignal: call.signal });
      } finally {
        for (const resume of resumes) resume();
      }
    },
    tell(method, params) {
      if (!call.ended) client.tell(method, params);
    },
  };
}

/** Whatever is not an answer is no consent. */
function answerIn({ action, content }: Record<string, unknown>): ElicitAnswer {
  if (!actions.includes(action)) return { action: "cancel" };
  return {
    action: action as ElicitAnswer["action"],
    ...(isJsonObject(content) && { content }),
  };
}
