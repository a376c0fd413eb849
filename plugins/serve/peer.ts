import {
  type Actor,
  GatewayError,
  isJsonObject,
  type JsonObject,
  type MaybePromise,
  type Progress,
} from "../../core/mod.ts";
import { cannot } from "./_capability.ts";
import { converse, conversed } from "./_converse.ts";
import { type Handler, type Handlers, type Handling, type Id, notFound } from "./_handler.ts";
import { isQuestions } from "./_input.ts";
import { createListening } from "./_listening.ts";
import { promptHandlers } from "./_prompt-handlers.ts";
import { resourceHandlers } from "./_resource-handlers.ts";
import { createSession, infoOf, type Session } from "./_session.ts";
import { sessionHandlers } from "./_session-handlers.ts";
import { createTalk, type Talk } from "./_talk.ts";
import { toolHandlers } from "./_tool-handlers.ts";
import { Underway } from "./_underway.ts";
import type { Client } from "./client.ts";
import type { Front } from "./front.ts";
import { modernResult, modernVersionOf, RpcError, rpcCodes, rpcErrorOf } from "./protocol.ts";

/** What a peer is made of. */
export interface PeerParts {
  readonly front: Front;
  /** What the agent is told of this server as a whole. */
  readonly instructions: (client?: Client["info"]) => string | undefined;
  /** Sends one message to the client; returns false where that could not be done. */
  readonly send: (message: object) => unknown;
  /** Who the client is; the local user where nobody is named. */
  readonly actor?: Actor | undefined;
  /** What the client has said once, where it speaks by several peers; one of its own by default. */
  readonly session?: Session | undefined;
  /** What is asked and waited for, where it is answered by several peers; one of its own by default. */
  readonly talk?: Talk | undefined;
  /** Whether a client of the older era can be asked anything in between; true by default. */
  readonly canAsk?: boolean | undefined;
  /** Whether a request that listens to nothing is answered at once, and not when the client ends it. */
  readonly closesEmpty?: boolean | undefined;
}

/** One client, of either era, at the other end of a stream of messages. */
export interface Peer {
  /** Takes one message, whatever it is. Never throws. */
  receive(message: unknown): void;
  /** Resolves once every request has been answered. */
  settled(): Promise<void>;
  /** The client says nothing more: what it was asked will not be answered. Its requests go on. */
  hush(): void;
  /**
   * The client has gone without a word: it may have crashed, or its network has. What only reads is cancelled, since
   * nobody waits for it. What has begun to change something goes on, and is recorded as it ends: cancelled in the
   * middle, nobody would know what it did. A client that takes a request back says so, and then that is what it wants.
   */
  leave(): void;
  /** Ends what was promised to the client beyond its requests. */
  close(): void;
}

/** Why an answer cannot be sent. */
export const UNWRITABLE = "The answer cannot be written as JSON.";

/**
 * Speaks MCP itself, without the SDK: importing that costs more than everything else a start does, and its
 * parsing more than the rest of a call.
 */
export function createPeer(parts: PeerParts): Peer {
  const { front, instructions, send, actor, canAsk = true, closesEmpty = false } = parts;
  const { session = createSession(), talk = createTalk() } = parts;
  const running = new Map<Id, Underway>();
  const listening = createListening({ front, session, actor, send, closesEmpty });
  const handlers: Handlers = {
    ...sessionHandlers(front, session, instructions),
    ...toolHandlers(front),
    ...resourceHandlers(front),
    ...promptHandlers(front),
    ...listening.handlers,
  };

  return {
    receive(message) {
      if (!isJsonObject(message) || message["jsonrpc"] !== "2.0") {
        return refuse(null, "This is not a message of JSON-RPC 2.0.");
      }
      const { id, method, params = {} } = message;
      if (typeof method !== "string") return talk.asking.answer(message, session);
      if (id === undefined) return notice(method, isJsonObject(params) ? params : {});
      if (typeof id !== "string" && typeof id !== "number") {
        return refuse(null, "The id of a request is a text or a number.");
      }
      if (running.has(id)) return refuse(id, "A request with this id is still under way.");
      const request = new Underway(id);
      running.set(id, request);
      answer(request, method, params);
    },
    async settled() {
      await Promise.all([...running.values()].map(({ done }) => done));
    },
    hush() {
      for (const request of running.values()) request.leave();
    },
    leave() {
      for (const request of running.values()) {
        if (!request.hasEffects || !front.adopt(request.done)) request.cancel();
        request.leave();
      }
    },
    close: () => listening.close(),
  };

  function refuse(id: Id | null, message: string): void {
    send(errorOf(id, new RpcError(rpcCodes.invalidRequest, message)));
  }

  /** Without a promise where none is needed: it is done for every message. */
  function answer(request: Underway, method: string, params: unknown): void {
    const fail = (thrown: unknown): void => finish(request, errorOf(request.id, thrown));
    try {
      if (!isJsonObject(params))
        throw new RpcError(rpcCodes.invalidParams, "The params of a request are an object.");
      const handler = Object.hasOwn(handlers, method) ? handlers[method] : undefined;
      const modern = modernVersionOf(params) !== undefined;
      if (!handler || (modern && method === "initialize")) throw notFound(method);
      const succeed = (result: object): void => finish(request, answerOf(request.id, result, modern));
      const answering = modern
        ? modernly(handler, request, method, params)
        : (handler(params, legacyHandling(request, params)) as MaybePromise<object>);
      if (answering instanceof Promise) answering.then(succeed, fail);
      else succeed(answering);
    } catch (thrown) {
      fail(thrown);
    }
  }

  function finish(request: Underway, message: object): void {
    // A client that has cancelled a request no longer waits for it.
    if (!request.cancelled) {
      request.leave();
      try {
        send(message);
      } catch (thrown) {
        // What a plugin made may be no JSON at all, or nested without an end.
        send(errorOf(request.id, GatewayError.from(thrown, UNWRITABLE)));
      }
    }
    running.delete(request.id);
    request.end();
  }

  async function modernly(
    handler: Handler,
    request: Underway,
    method: string,
    params: JsonObject,
  ): Promise<object> {
    if (conversed.has(method)) return converse(handler, { method, params, request, actor, send }, talk);
    const { _meta } = params;
    const info = infoOf(isJsonObject(_meta) ? _meta["io.modelcontextprotocol/clientInfo"] : undefined);
    return (await handler(params, {
      id: request.id,
      modern: true,
      cancellation: request,
      actor,
      info,
      client: undefined,
      input: undefined,
      report: undefined,
      onEffect: effectOf(request),
    })) as object;
  }

  function legacyHandling(request: Underway, { _meta }: JsonObject): Handling {
    const { progressToken } = isJsonObject(_meta) ? _meta : {};
    const report = (progress: Progress): void =>
      void send({ jsonrpc: "2.0", method: "notifications/progress", params: { progressToken, ...progress } });
    return {
      id: request.id,
      modern: false,
      cancellation: request,
      actor,
      info: session.info,
      client: canAsk ? talk.asking.clientOf(request, session, send) : undefined,
      input: undefined,
      report: progressToken === undefined ? undefined : report,
      onEffect: effectOf(request),
    };
  }

  function notice(method: string, { requestId }: JsonObject): void {
    if (method === "notifications/initialized") listening.begin();
    if (method === "notifications/cancelled") running.get(requestId as Id)?.cancel();
  }
}

function effectOf(request: Underway): () => void {
  return () => {
    request.hasEffects = true;
  };
}

/** The message that a request is answered with; of a result that cannot be looked at, an error. */
function answerOf(id: Id, result: object, modern: boolean): object {
  try {
    // The older era knows no such answers, and whoever asks has to ask by a request.
    if (!modern && isQuestions(result)) throw cannot("input_required", {});
    return { jsonrpc: "2.0", id, result: modern ? modernResult(result) : result };
  } catch (thrown) {
    return errorOf(id, thrown);
  }
}

function errorOf(id: Id | null, thrown: unknown): object {
  return { jsonrpc: "2.0", id, error: rpcErrorOf(thrown) };
}
