import { type Actor, GatewayError, isJsonObject } from "../../../core/mod.ts";
import { rpcCodes } from "../../lib/jsonrpc.ts";
import type { ClientConnectionOptions } from "../protocol/connection.ts";
import { errorMessage, type Id, META, toModernResult, UNWRITABLE } from "../protocol/messages.ts";
import type { McpServer } from "../protocol/server.ts";
import type { RequestMessage } from "./messages.ts";
import type { Reply } from "./reply.ts";

/** One HTTP request that is being answered, with the MCP requests in it. */
export interface HttpExchange {
  /** The id of the session, if the client sent one. */
  readonly session: string | undefined;
  readonly actor: string;
  /** Whether it answers nothing, and only carries notifications. */
  readonly isStream: boolean;
  /** Whether it lasts until its client ends it, for notifications alone. */
  readonly carriesNotices: boolean;
  /** Cancels a request, which then gets no answer. */
  cancel(id: unknown): void;
  /** Ends subscriptions, which would last until the client ends them; other requests go on. */
  close(): void;
  /** Notes that the client disconnected, or has its answer. */
  end(): void;
}

interface HttpExchangeOptions extends Pick<ClientConnectionOptions, "session" | "canAsk"> {
  readonly server: McpServer;
  readonly actor: Actor;
  readonly reply: Reply;
  /** The id of the session, if the client sent one. */
  readonly id: string | undefined;
}

/** The request by which a modern client listens to notifications until it ends the request. */
export const LISTEN = "subscriptions/listen";

/** Answers requests of one protocol version, on a connection of their own. */
export function answerRequests(
  requests: readonly RequestMessage[],
  isBatch: boolean,
  modern: boolean,
  { server, reply, id, actor, session, canAsk }: HttpExchangeOptions,
): HttpExchange {
  const waiting = new Map(requests.map((request) => [request.id, request]));
  const answers: object[] = [];
  const connection = server.connect({
    actor,
    session,
    canAsk,
    // As the SDK does: a stream that will never carry anything ends; only one that other requests share stays open.
    closesEmpty: true,
    send(message) {
      if ("method" in message) return reply.notify(message);
      answers.push(message);
      waiting.delete((message as RequestMessage).id);
      if (waiting.size === 0) deliver();
    },
  });
  if (requests.some(({ method }) => method === LISTEN)) readTools(server);
  for (const request of requests) connection.receive({ ...request, jsonrpc: "2.0" });

  return {
    session: id,
    actor: actor.id,
    isStream: false,
    carriesNotices: requests.some(({ method }) => method === LISTEN),
    cancel(requestId) {
      if (!cancelRequest(requestId) || waiting.size > 0) return;
      if (answers.length > 0) deliver();
      else reply.end();
    },
    close() {
      for (const { id: requestId, method } of waiting.values()) {
        if (modern && method === LISTEN && cancelRequest(requestId)) reply.answer(endSubscription(requestId));
      }
    },
    end() {
      waiting.clear();
      // A modern client cancels a request by closing its stream: that cannot be told from a lost connection.
      connection.disconnect();
      connection.close();
    },
  };

  function cancelRequest(requestId: unknown): boolean {
    if (!waiting.delete(requestId as Id)) return false;
    connection.receive({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId } });
    return true;
  }

  function deliver(): void {
    try {
      reply.answer(...toReply(answers));
    } catch {
      reply.answer(...toReply(answers.map(toWritable)));
    }
  }

  function toReply(all: readonly object[]): [object | readonly object[], number] {
    const [first = {}] = all;
    return [isBatch ? all : first, modern ? toStatus(first) : 200];
  }

  /** In the modern protocol a missing method has its HTTP status too. A missing tool does not. */
  function toStatus(answer: { readonly error?: unknown }): number {
    const code = isJsonObject(answer.error) ? answer.error["code"] : undefined;
    if (code === rpcCodes.missingCapability) return 400;
    return code === rpcCodes.methodNotFound && requests[0]?.method !== "tools/call" ? 404 : 200;
  }
}

/** Opens a stream of notifications to a legacy client, which lasts until the client ends it. */
export function openStream({ server, reply, id, actor, session }: HttpExchangeOptions): HttpExchange {
  const connection = server.connect({ actor, session, send: (message) => reply.notify(message) });
  connection.receive({ jsonrpc: "2.0", method: "notifications/initialized" });
  readTools(server);
  reply.open();
  return {
    session: id,
    actor: actor.id,
    isStream: true,
    carriesNotices: true,
    cancel: () => {},
    close: () => reply.end(),
    end: () => connection.close(),
  };
}

/** Changes are noticed only in a list that was read once. */
function readTools({ view }: McpServer): void {
  view.listTools();
}

/** A plugin's result may be no JSON at all, or nested without an end. */
function toWritable(answer: object): object {
  try {
    JSON.stringify(answer);
    return answer;
  } catch (thrown) {
    return errorMessage((answer as RequestMessage).id, GatewayError.from(thrown, UNWRITABLE));
  }
}

function endSubscription(id: Id): object {
  return { jsonrpc: "2.0", id, result: toModernResult({ _meta: { [`${META}subscriptionId`]: id } }) };
}
