import { GatewayError, isJsonObject, type JsonObject, type Progress } from "../../core/mod.ts";
import { cacheable, type Handler, type Id, notFound, type Underway } from "./_handler.ts";
import { resourceHandlers } from "./_resource-handlers.ts";
import type { Front } from "./front.ts";
import {
  legacyVersions,
  modernResult,
  modernVersionOf,
  modernVersions,
  RpcError,
  rpcCodes,
  rpcErrorOf,
  serverInfo,
} from "./protocol.ts";

/** What a peer is made of. */
export interface PeerParts {
  readonly front: Front;
  /** What the agent is told of this server as a whole. */
  readonly instructions: () => string | undefined;
  /** Sends one message to the client. */
  readonly send: (message: object) => void;
}

/** One client, of either era, at the other end of a stream of messages. */
export interface Peer {
  /** Takes one message, whatever it is. Never throws. */
  receive(message: unknown): void;
  /** Resolves once every request has been answered. */
  settled(): Promise<void>;
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
export function createPeer({ front, instructions, send }: PeerParts): Peer {
  const running = new Map<Id, { readonly request: Underway; readonly done: Promise<void> }>();
  const subscriptions = new Set<Id>();
  let isLegacyReady = false;
  const stopListening = front.onListChanged(() => {
    const method = "notifications/tools/list_changed";
    if (isLegacyReady) send({ jsonrpc: "2.0", method });
    for (const id of subscriptions) {
      send({ jsonrpc: "2.0", method, params: { _meta: { "io.modelcontextprotocol/subscriptionId": id } } });
    }
  });

  const handlers: Readonly<Record<string, Handler>> = {
    ...resourceHandlers(front),
    initialize({ protocolVersion }) {
      const wanted = String(protocolVersion);
      const agreed = legacyVersions.includes(wanted) ? wanted : legacyVersions[0];
      return { protocolVersion: agreed, capabilities: capabilities(), serverInfo, ...described() };
    },
    "server/discover": (_params, { modern }) => {
      if (!modern) throw notFound("server/discover");
      return {
        supportedVersions: modernVersions,
        capabilities: capabilities(),
        ...described(),
        ...cacheable,
      };
    },
    ping: (_params, { modern }) => {
      if (modern) throw notFound("ping");
      return {};
    },
    "tools/list": (_params, { modern }) => ({ tools: front.list(), ...(modern && cacheable) }),
    "tools/call": (params, request) => callTool(params, request),
    "subscriptions/listen": (params, { id, modern, abort }) => {
      if (!modern) throw notFound("subscriptions/listen");
      return listen(params, id, abort.signal);
    },
  };

  return {
    receive(message) {
      if (!isJsonObject(message) || message["jsonrpc"] !== "2.0") {
        return send(
          errorOf(null, new RpcError(rpcCodes.invalidRequest, "This is not a message of JSON-RPC 2.0.")),
        );
      }
      const { id, method, params = {} } = message;
      // What is no request is an answer, and we never ask anything.
      if (typeof method !== "string") return;
      if (id === undefined) return notice(method, isJsonObject(params) ? params : {});
      if (typeof id !== "string" && typeof id !== "number") {
        return send(
          errorOf(null, new RpcError(rpcCodes.invalidRequest, "The id of a request is a text or a number.")),
        );
      }
      if (running.has(id)) {
        return send(
          errorOf(id, new RpcError(rpcCodes.invalidRequest, "A request with this id is still under way.")),
        );
      }
      const request = { id, abort: new AbortController(), modern: false, hasEffects: false };
      const done = answer(request, method, params).finally(() => running.delete(id));
      running.set(id, { request, done });
    },
    async settled() {
      await Promise.all([...running.values()].map(({ done }) => done));
    },
    leave() {
      for (const { request, done } of running.values()) {
        if (!request.hasEffects || !front.adopt(done)) request.abort.abort();
      }
    },
    close() {
      stopListening();
      for (const id of subscriptions) running.get(id)?.request.abort.abort();
    },
  };

  async function answer(request: Underway, method: string, params: unknown): Promise<void> {
    const { id, abort } = request;
    let message: object;
    try {
      if (!isJsonObject(params))
        throw new RpcError(rpcCodes.invalidParams, "The params of a request are an object.");
      const handler = Object.hasOwn(handlers, method) ? handlers[method] : undefined;
      const modern = modernVersionOf(params) !== undefined;
      request.modern = modern;
      if (!handler || (modern && method === "initialize")) throw notFound(method);
      const result = (await handler(params, request)) as object;
      message = { jsonrpc: "2.0", id, result: modern ? modernResult(result) : result };
    } catch (thrown) {
      message = errorOf(id, thrown);
    }
    // A client that has cancelled a request no longer waits for it.
    if (abort.signal.aborted) return;
    try {
      send(message);
    } catch (thrown) {
      // What a plugin made may be no JSON at all, or nested without an end.
      send(errorOf(id, GatewayError.from(thrown, UNWRITABLE)));
    }
  }

  function notice(method: string, params: JsonObject): void {
    if (method === "notifications/initialized") isLegacyReady = true;
    const { requestId } = params;
    if (method === "notifications/cancelled") running.get(requestId as Id)?.request.abort.abort();
  }

  function capabilities(): object {
    return { tools: { listChanged: true }, ...(front.resources() && { resources: {} }) };
  }

  function callTool({ name, arguments: args, _meta }: JsonObject, request: Underway): Promise<object> {
    if (typeof name !== "string")
      throw new RpcError(rpcCodes.invalidParams, "A call needs the name of a tool.");
    const meta = isJsonObject(_meta) ? _meta : {};
    const { progressToken } = meta;
    const onProgress = (progress: Progress): void => {
      send({ jsonrpc: "2.0", method: "notifications/progress", params: { progressToken, ...progress } });
    };
    const onEffect = (): void => {
      request.hasEffects = true;
    };
    const { signal } = request.abort;
    return front.call(name, args, {
      signal,
      meta,
      onEffect,
      ...(progressToken !== undefined && { onProgress }),
    });
  }

  /** Stays unanswered for as long as the client listens. */
  function listen({ notifications }: JsonObject, id: Id, signal: AbortSignal): Promise<object> {
    if (!isJsonObject(notifications))
      throw new RpcError(rpcCodes.invalidParams, "What to listen to is missing.");
    const wants = notifications["toolsListChanged"] === true;
    if (wants) subscriptions.add(id);
    send({
      jsonrpc: "2.0",
      method: "notifications/subscriptions/acknowledged",
      params: {
        notifications: wants ? { toolsListChanged: true } : {},
        _meta: { "io.modelcontextprotocol/subscriptionId": id },
      },
    });
    return new Promise((resolve) => {
      signal.addEventListener("abort", () => {
        subscriptions.delete(id);
        resolve({});
      });
    });
  }

  function described(): { instructions?: string } {
    const text = instructions();
    return text ? { instructions: text } : {};
  }
}

function errorOf(id: Id | null, thrown: unknown): object {
  return { jsonrpc: "2.0", id, error: rpcErrorOf(thrown) };
}
