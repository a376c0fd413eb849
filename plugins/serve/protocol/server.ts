import type { Client } from "../../../core/services/clients.ts";
import { type ClientLimits, clientLimits } from "../client/pending.ts";
import { createSuspendedCalls, type SuspendedCalls } from "../client/suspended.ts";
import type { View } from "../view.ts";
import { ClientConnection, type ClientConnectionOptions } from "./connection.ts";
import type { Handlers } from "./request.ts";
import { promptHandlers, resourceHandlers } from "./resources.ts";
import { sessionHandlers } from "./session.ts";
import { subscriptionHandlers } from "./subscriptions.ts";
import { toolHandlers } from "./tools.ts";

/** Options of {@link createMcpServer}. */
export interface McpServerOptions {
  readonly view: View;
  /** Instructions for the agent, by the name of its client. */
  readonly instructions?: ((client?: Client["info"]) => string | undefined) | undefined;
  readonly limits?: Partial<ClientLimits> | undefined;
  /** Hears of the state of a suspended call before its client does. */
  readonly onSuspend?: ((state: string) => Promise<void>) | undefined;
}

/** Everything that the connections of one address share. */
export interface McpServer {
  readonly view: View;
  readonly handlers: Handlers;
  readonly limits: ClientLimits;
  readonly suspended: SuspendedCalls;
  /** Opens a connection: one stream of messages from a client. */
  connect(options: ClientConnectionOptions): ClientConnection;
  /** Keeps a call running after its client disconnected. Returns false if too many are kept so already. */
  detach(done: Promise<unknown>): boolean;
}

/** Calls that go on after their clients disconnected. */
const MAX_DETACHED = 100;

/**
 * Creates a server that speaks MCP itself, without the SDK: importing that costs more than everything else a start
 * does, and its parsing more than the rest of a call. It serves clients of legacy and modern protocol versions alike.
 */
export function createMcpServer({
  view,
  instructions = () => undefined,
  limits: given,
  onSuspend,
}: McpServerOptions): McpServer {
  const limits = { ...clientLimits, ...given };
  let detached = 0;
  const server: McpServer = {
    view,
    limits,
    handlers: {
      ...sessionHandlers(view, instructions),
      ...toolHandlers(view),
      ...resourceHandlers(view),
      ...promptHandlers(view),
      ...subscriptionHandlers(view),
    },
    suspended: createSuspendedCalls(limits, onSuspend),
    connect: (options) => new ClientConnection(server, options),
    detach(done) {
      if (detached >= MAX_DETACHED) return false;
      detached++;
      const end = (): void => void detached--;
      done.then(end, end);
      return true;
    },
  };
  return server;
}
