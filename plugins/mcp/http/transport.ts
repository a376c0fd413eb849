import { AsyncLocalStorage } from "node:async_hooks";
import type {
  JSONRPCMessage,
  RequestId,
  Transport,
  TransportSendOptions,
} from "@modelcontextprotocol/client";
import type { GatewayError } from "../../../core/mod.ts";
import { waitAtMost } from "../../lib/backoff.ts";
import { connectionEnded } from "../errors.ts";
import type { McpTransport, MessageInfo } from "../session.ts";

/** The request that is being sent. The SDK reads the stream of the answer as part of sending, and does not name it. */
const sending = new AsyncLocalStorage<{ readonly on: object; readonly id: RequestId }>();

/** A transport whose requests can be failed from outside. */
export interface RemoteTransport extends McpTransport {
  /** Ends one request with this error; the others go on. */
  fail(id: RequestId | undefined, error: GatewayError): void;
  /** Ends all requests and the connection, for this reason. */
  lose(reason: string): void;
  /**
   * Ends the connection for this reason, once the server has begun to answer what it was sent: each of these answers says
   * whether its request was taken. New requests are refused as unsent.
   */
  leave(reason: string): void;
}

interface RemoteTransportOptions {
  /** The name of the server, for messages. */
  readonly name: string;
  readonly inner: Transport & { terminateSession?(): Promise<void> };
  /** Whether all answers come on one stream, so that its end is the end of the connection. */
  readonly singleStream: boolean;
  /** Turns an error of the wrapped transport into one of ours. */
  readonly toError: (thrown: unknown) => GatewayError;
}

const GOODBYE_MS = 2_000;
/** A server that no longer knows the session has begun to answer all requests after this long, or never will. */
const LEAVE_MS = 2_000;
/** A stream that stays open after its answer is closed after this long; one that ends by itself can be used again. */
const LINGER_MS = 1_000;

/**
 * Ends each request with its stream, and its stream with the request. The SDK's transports let a request whose
 * stream broke wait for its time limit, and let the stream of a request that was given up run on.
 */
export function createRemoteTransport(options: RemoteTransportOptions): RemoteTransport {
  const { name, inner, singleStream, toError } = options;
  /** Ends each pending request, without an error once it was answered. */
  const pending = new Map<RequestId, (error?: GatewayError) => void>();
  /** Requests that the server has not begun to answer. */
  let unanswered = 0;
  let onAllAnswered: (() => void) | undefined;
  let started = false;
  let closed = false;
  let closing: Promise<void> | undefined;
  let closeReason: string | undefined;
  let leaving: string | undefined;

  const transport: RemoteTransport = {
    async start() {
      inner.onmessage = (message, extra) => {
        if ("id" in message && !("method" in message) && message.id !== undefined) {
          pending.get(message.id)?.();
        }
        const sent = sending.getStore();
        // Two connections number their requests alike.
        const related = !singleStream && sent?.on === inner ? sent.id : undefined;
        const info: MessageInfo | undefined = related === undefined ? extra : { ...extra, related };
        transport.onmessage?.(message, info);
      };
      inner.onerror = (error) => {
        transport.onerror?.(error);
        if (singleStream && started && isStreamError(error)) {
          transport.lose("the server has ended the stream");
        }
      };
      inner.onclose = () => {
        closed = true;
        for (const settle of [...pending.values()]) settle();
        transport.onclose?.();
      };
      try {
        await inner.start();
      } catch (thrown) {
        // The SDK would go on trying.
        await inner.close();
        throw toError(thrown);
      }
      started = true;
    },
    send(message, sendOptions) {
      if (isRequest(message)) return request(message, sendOptions);
      return inner.send(message, sendOptions).catch((thrown) => Promise.reject(toError(thrown)));
    },
    close() {
      closing ??= terminateSession().then(() => inner.close());
      return closing;
    },
    get closeReason() {
      return closeReason;
    },
    endsBySignal: true,
    get sessionId() {
      return inner.sessionId;
    },
    get hasPerRequestStream() {
      return inner.hasPerRequestStream ?? false;
    },
    setProtocolVersion: (version) => inner.setProtocolVersion?.(version),
    fail(id, error) {
      if (id !== undefined) pending.get(id)?.(error);
    },
    lose(reason) {
      if (closed || closeReason !== undefined) return;
      closeReason = reason;
      for (const settle of [...pending.values()]) settle(connectionEnded({ name, closeReason }));
      void inner.close();
    },
    leave(reason) {
      if (closed || onAllAnswered) return;
      leaving = reason;
      const finish = (): void => {
        clearTimeout(timer);
        transport.lose(reason);
      };
      const timer = setTimeout(finish, LEAVE_MS);
      // The request that found out has not failed yet.
      onAllAnswered = () => setImmediate(finish);
      if (unanswered === 0) onAllAnswered();
    },
  };
  return transport;

  /** A server that keeps sessions can drop this one now instead of after a timeout. */
  async function terminateSession(): Promise<void> {
    if (closed || inner.sessionId === undefined || closeReason !== undefined) return;
    await waitAtMost(
      inner.terminateSession?.().catch(() => {}),
      GOODBYE_MS,
    );
  }

  /** Resolves once the request has been answered or given up, and rejects when it failed. */
  function request(
    message: JSONRPCMessage & { id: RequestId; method: string },
    from: TransportSendOptions = {},
  ): Promise<void> {
    if (leaving !== undefined) {
      return Promise.reject(connectionEnded({ name, closeReason: leaving }, { sent: false }));
    }
    return new Promise((resolve, reject) => {
      const abort = new AbortController();
      const giveUp = (): void => settle();
      const settle = (error?: GatewayError): void => {
        if (!pending.delete(message.id)) return;
        from.requestSignal?.removeEventListener("abort", giveUp);
        // Nothing that still comes on the stream is used.
        if (error || from.requestSignal?.aborted) abort.abort();
        else setTimeout(() => abort.abort(), LINGER_MS).unref?.();
        if (error) reject(error);
        else resolve();
      };
      pending.set(message.id, settle);
      from.requestSignal?.addEventListener("abort", giveUp, { once: true });
      const onRequestStreamEnd = (): void => {
        if (from.onRequestStreamEnd) {
          from.onRequestStreamEnd();
          settle();
        } else {
          settle(connectionEnded({ name, closeReason: "the stream broke off before the answer" }));
        }
      };
      unanswered++;
      sending
        .run({ on: inner, id: message.id }, () =>
          inner.send(message, { ...from, requestSignal: abort.signal, onRequestStreamEnd }),
        )
        .catch((thrown: unknown) => {
          // The SDK reads this answer itself, to find out which protocol versions the server speaks.
          if (message.method !== "server/discover") return settle(toError(thrown));
          if (pending.delete(message.id)) reject(thrown);
        })
        .finally(() => {
          if (--unanswered === 0) onAllAnswered?.();
        });
    });
  }
}

function isRequest(message: JSONRPCMessage): message is JSONRPCMessage & { id: RequestId; method: string } {
  return "method" in message && "id" in message && message.id !== undefined;
}

/** The SDK reports the end of its stream and a broken event in the same way; only the first has an event. */
function isStreamError(error: Error): boolean {
  return "event" in error;
}
