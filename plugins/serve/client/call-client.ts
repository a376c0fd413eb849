import {
  type Call,
  type CallNotes,
  type Gateway,
  GatewayError,
  type JsonObject,
  type Plugin,
} from "../../../core/mod.ts";
import {
  CLIENT_CANNOT,
  CLIENT_FAILED,
  CLIENT_LEFT,
  CLIENT_SILENT,
  type Client,
  type ClientCapability,
  type Clients,
  QUESTIONS_FULL,
} from "../../../core/services/clients.ts";
import { PROMPT_NOT_FOUND, RESOURCE_NOT_FOUND } from "../../../core/services/resources.ts";
import type { View } from "../view.ts";

/** The caller of a call, such as a request of a client. */
interface Caller {
  readonly client: Client | undefined;
  /** Notes a call of a tool that may do more than read. */
  addEffect?(call: Call): void;
}

const callerNote = Symbol("toolpipe caller");

/** The notes by which {@link findCaller} finds the caller of a call. */
export function callerNotes(caller: Caller): CallNotes {
  return { [callerNote]: caller };
}

/** The caller of a call, or of the outermost call that it is made for. */
export function findCaller(call: Call): Caller | undefined {
  let outermost = call;
  while (outermost.parent) outermost = outermost.parent;
  return outermost.notes[callerNote] as Caller | undefined;
}

/** Options of {@link servePlugin}. */
export interface ServePluginOptions {
  /** Whether several clients may be connected at once. */
  readonly isShared?: boolean;
  /** Called when the gateway is ready, before it is served. */
  readonly onReady?: (gateway: Gateway) => void;
}

/** Creates the plugin of a gateway that is served through a view: it provides the clients behind calls. */
export function servePlugin(
  view: View,
  { isShared = false, onReady }: ServePluginOptions = {},
): Plugin<"serve"> {
  return {
    name: "serve",
    provides: ["clients"],
    errors: {
      CLIENT_CANNOT,
      CLIENT_FAILED,
      CLIENT_LEFT,
      CLIENT_SILENT,
      PROMPT_NOT_FOUND,
      QUESTIONS_FULL,
      RESOURCE_NOT_FOUND,
    },
    setup(gateway) {
      const clients = createClients(gateway, isShared);
      gateway.provide("clients", clients);
      return {
        ready() {
          checkRoutes(gateway);
          onReady?.(gateway);
        },
        "catalog:change": () => view.catalogChanged(gateway),
        // The hint comes from the tool's server, and a wrong one harms only the calls of that server.
        execute(call, next) {
          if (call.tool && !call.tool.builtin && call.tool.annotations?.readOnlyHint !== true) {
            findCaller(call)?.addEffect?.(call);
          }
          return next();
        },
      };
    },
  };
}

function checkRoutes(gateway: Pick<Gateway, "drivers">): void {
  for (const path of gateway.drivers("route").keys()) {
    if (path.startsWith("/")) continue;
    throw new GatewayError("PLUGIN_INVALID", `The route "${path}" cannot be served: it must begin with "/".`);
  }
}

/** Finds the clients behind the calls of a gateway. */
export function createClients(gateway: Pick<Gateway, "services">, isShared: boolean): Clients {
  let hasLogging = false;
  return {
    get(call) {
      const client = findCaller(call)?.client;
      return client && new CallClient(client, call, gateway.services);
    },
    getNotes: (client) => callerNotes({ client }),
    isShared,
    offerLogging() {
      hasLogging = true;
    },
    get hasLogging() {
      return hasLogging;
    },
  };
}

/** A client as one call has it. A class for the reason that `Request` is one. */
class CallClient implements Client {
  readonly #client: Client;
  readonly #call: Call;
  readonly #services: Gateway["services"];

  constructor(client: Client, call: Call, services: Gateway["services"]) {
    this.#client = client;
    this.#call = call;
    this.#services = services;
  }

  get protocol(): Client["protocol"] {
    return this.#client.protocol;
  }

  /** If there is only one client, all requests are its own, also in the modern protocol. */
  get session(): Client["session"] {
    const isAlone = this.#services.clients?.isShared === false;
    return this.#client.session ?? (isAlone ? this.#services : undefined);
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
    { signal }: { readonly signal?: AbortSignal } = {},
  ): Promise<JsonObject> {
    const own = this.#call.signal;
    const resume = this.#call.pause();
    try {
      const either = signal ? AbortSignal.any([signal, own]) : own;
      return await this.#client.ask(method, params, { signal: either });
    } finally {
      resume();
    }
  }

  notify(method: string, params: Readonly<JsonObject>): void {
    if (!this.#call.ended) this.#client.notify(method, params);
  }
}
