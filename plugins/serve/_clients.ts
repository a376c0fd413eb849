import { type Call, type Gateway, isJsonObject, type JsonObject } from "../../core/mod.ts";
import type { Elicit, ElicitAnswer } from "../guard/elicit.ts";
import type {} from "../timeout.ts";
import type { ServedClient } from "./_served-client.ts";
import type { Client, ClientCapability, Clients } from "./client.ts";

/** What a call needs to know of the client that it is made for. */
type AskedClient = Pick<ServedClient, keyof Client>;

const actions: readonly unknown[] = ["accept", "decline", "cancel"];

/** Finds the clients behind the calls of a gateway. */
export function clientsFor(gateway: Gateway, served: (call: Call) => AskedClient | undefined): Clients["of"] {
  return (call) => {
    const client = served(call);
    return client && new CallClient(client, call, gateway.services);
  };
}

/** Asks the person behind a call, where the client that it came from can do that. */
export function elicitBy(clients: Pick<Clients, "of">): Elicit {
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

/** A client as one call has it; a class for the reason that `Underway` is one. */
class CallClient implements Client {
  readonly #client: AskedClient;
  readonly #call: Call;
  readonly #services: Gateway["services"];

  constructor(client: AskedClient, call: Call, services: Gateway["services"]) {
    this.#client = client;
    this.#call = call;
    this.#services = services;
  }

  get era(): Client["era"] {
    return this.#client.era;
  }

  /** Where there is only one client, it is known who asks, also in the newer era. */
  get peer(): Client["peer"] {
    const isAlone = this.#services.clients?.isShared === false;
    return this.#client.peer ?? (isAlone ? this.#services : undefined);
  }

  get logLevel(): Client["logLevel"] {
    return this.#client.logLevel;
  }

  get info(): Client["info"] {
    return this.#client.info;
  }

  get capabilities(): Client["capabilities"] {
    return this.#client.capabilities;
  }

  can(capability: ClientCapability): boolean {
    return this.#client.can(capability);
  }

  async ask(
    method: string,
    params: Readonly<JsonObject>,
    options?: { readonly signal?: AbortSignal },
  ): Promise<JsonObject> {
    const resumes: (() => void)[] = [];
    const { timeouts } = this.#services;
    for (let at: Call | undefined = this.#call; at && timeouts; at = at.parent) {
      resumes.push(timeouts.pause(at));
    }
    try {
      return await this.#client.ask(method, params, { ...options, callSignal: this.#call.signal });
    } finally {
      for (const resume of resumes) resume();
    }
  }

  tell(method: string, params: Readonly<JsonObject>): void {
    if (!this.#call.ended) this.#client.tell(method, params);
  }
}

/** Whatever is not an answer is no consent. */
function answerIn({ action, content }: Record<string, unknown>): ElicitAnswer {
  if (!actions.includes(action)) return { action: "cancel" };
  return {
    action: action as ElicitAnswer["action"],
    ...(isJsonObject(content) && { content }),
  };
}
