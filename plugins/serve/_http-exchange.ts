import { type Actor, GatewayError, isJsonObject } from "../../core/mod.ts";
import type { Message } from "./_http-era.ts";
import type { Reply } from "./_http-reply.ts";
import { createPeer, type PeerParts, UNWRITABLE } from "./peer.ts";
import { modernResult, rpcCodes, rpcErrorOf } from "./protocol.ts";

/** A request of HTTP on its way, with the one or several requests of MCP in it. */
export interface Exchange {
  /** Who has asked, where that is known. */
  readonly session: string | undefined;
  readonly actor: string;
  /** Whether it tells what nobody asked for, and answers nothing. */
  readonly isTelling: boolean;
  /** Cancels a request, which then gets no answer. */
  cancel(id: unknown): void;
  /** Ends what would go on until the client ends it; what will be answered goes on. */
  close(): void;
  /** The client has gone, or has everything. */
  over(): void;
}

/** What an exchange is made of. */
export interface ExchangeParts extends Omit<PeerParts, "send" | "actor"> {
  readonly actor: Actor;
  readonly reply: Reply;
  readonly id: string | undefined;
}

type Request = Message & { readonly id: string | number };

const LISTEN = "subscriptions/listen";

/** Has requests answered by a peer that knows of nothing else. They are of one era. */
export function answering(
  requests: readonly Request[],
  isBatch: boolean,
  modern: boolean,
  { reply, id: session, ...parts }: ExchangeParts,
): Exchange {
  const waiting = new Map(requests.map((request) => [request.id, request]));
  const answers: object[] = [];
  const peer = createPeer({
    ...parts,
    // As the SDK does: a stream that will never carry anything is ended, and one that is shared is not.
    closesEmpty: true,
    send(message) {
      if ("method" in message) return reply.notify(message);
      answers.push(message);
      waiting.delete((message as Request).id);
      if (waiting.size === 0) deliver();
    },
  });
  if (requests.some(({ method }) => method === LISTEN)) remember(parts);
  for (const request of requests) peer.receive({ ...request, jsonrpc: "2.0" });

  return {
    session,
    actor: parts.actor.id,
    isTelling: false,
    cancel(id) {
      if (!stop(id) || waiting.size > 0) return;
      if (answers.length > 0) deliver();
      else reply.end();
    },
    close() {
      for (const { id, method } of waiting.values()) {
        if (modern && method === LISTEN && stop(id)) reply.answer(endOfListening(id));
      }
    },
    over() {
      waiting.clear();
      // In the newer era a client takes a request back by closing its stream, so that going and taking back are one.
      peer.leave();
      peer.close();
    },
  };

  function stop(id: unknown): boolean {
    if (!waiting.delete(id as Request["id"])) return false;
    peer.receive({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } });
    return true;
  }

  function deliver(): void {
    try {
      hand(answers);
    } catch {
      hand(answers.map(writable));
    }
  }

  function hand(all: readonly object[]): void {
    const [first = {}] = all;
    reply.answer(isBatch ? all : first, modern ? statusOf(first) : 200);
  }

  /** The newer era wants a missing method to be missing for HTTP too. A missing tool is another matter. */
  function statusOf(answer: { readonly error?: unknown }): number {
    const code = isJsonObject(answer.error) ? answer.error["code"] : undefined;
    if (code === rpcCodes.missingCapability) return 400;
    return code === rpcCodes.methodNotFound && requests[0]?.method !== "tools/call" ? 404 : 200;
  }
}

/** Tells a client of the older era what it did not ask for, for as long as it listens. */
export function telling({ reply, id: session, ...parts }: ExchangeParts): Exchange {
  const peer = createPeer({ ...parts, send: (message) => reply.notify(message) });
  peer.receive({ jsonrpc: "2.0", method: "notifications/initialized" });
  remember(parts);
  reply.open();
  return {
    session,
    actor: parts.actor.id,
    isTelling: true,
    cancel: () => {},
    close: () => reply.end(),
    over: () => peer.close(),
  };
}

/** A list is another one only after it has been looked at once. */
function remember({ front }: Pick<PeerParts, "front">): void {
  front.list();
}

/** What a plugin made may be no JSON at all, or nested without an end. */
function writable(answer: object): object {
  try {
    JSON.stringify(answer);
    return answer;
  } catch (thrown) {
    const error = rpcErrorOf(GatewayError.from(thrown, UNWRITABLE));
    return { jsonrpc: "2.0", id: (answer as Request).id, error };
  }
}

function endOfListening(id: string | number): object {
  const result = modernResult({ _meta: { "io.modelcontextprotocol/subscriptionId": id } });
  return { jsonrpc: "2.0", id, result };
}
