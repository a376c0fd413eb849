import type { JSONRPCMessage, Transport, TransportSendOptions } from "@modelcontextprotocol/client";
import type { GatewayError } from "../../core/mod.ts";
import { connectionEnded } from "./_mcp-errors.ts";
import type { McpTransport } from "./mcp.ts";
import { sendRelated, withRelated } from "./related.ts";

type Id = string | number;

interface Pending {
  readonly settle: (error?: GatewayError) => void;
  readonly abort: AbortController;
}

/** A transport that can be told that one request has failed, or that the server is gone. */
export interface RemoteTransport extends McpTransport {
  /** Ends one request with this error; the others go on. */
  fail(id: Id | undefined, error: GatewayError): void;
  /** Ends all of them, and the connection, for this reason. */
  lose(reason: string): void;
}

/** What a {@link remoteTransport} needs to know of the transport it wraps. */
export interface RemoteTransportOptions {
  /** The name of the server, for messages. */
  readonly name: string;
  readonly inner: Transport & { terminateSession?(): Promise<void> };
  /** Whether all answers come on one stream, so that its end is the end of the connection. */
  readonly singleStream: boolean;
  /** Turns what the wrapped transport throws into an error that may be shown. */
  readonly toError: (thrown: unknown) => GatewayError;
}

const GOODBYE_MS = 2_000;
/** A stream that stays open after its answer is closed after this long; one that ends by itself can be used again. */
const LINGER_MS = 1_000;

/**
 * Ties the life of each request to the client that waits for it. The SDK's transports let a request whose
 * stream broke wait for its time limit, and let the stream of a request that was given up run on.
 */
export function remoteTransport(options: RemoteTransportOptions): RemoteTransport {
  const { name, inner, singleStream, toError } = options;
  const pending = new Map<Id, Pending>();
  let started = false;
  let closed = false;
  let closing: Promise<void> | undefined;
  let closeReason: string | undefined;

  const transport: RemoteTransport = {
    async start() {
      inner.onmessage = (message, extra) => {
        if ("id" in message && !("method" in message) && message.id !== undefined) {
          pending.get(message.id)?.settle();
        }
        transport.onmessage?.(message, singleStream ? extra : withRelated(inner, extra));
      };
      inner.onerror = (error) => {
        transport.onerror?.(error);
        if (singleStream && started && isStreamError(error)) {
          transport.lose("the server has ended the stream");
        }
      };
      inner.onclose = () => {
        closed = true;
        for (const { settle } of [...pending.values()]) settle();
        transport.onclose?.();
      };
      try {
        await inner.start();
      } catch (thrown) {
        // It would go on trying on its own.
        await inner.close();
        throw toError(thrown);
      }
      started = true;
    },
    send(message, sendOptions) {
      return isRequest(message) ? request(message, sendOptions) : note(message, sendOptions);
    },
    close() {
      closing ??= sayGoodbye().then(() => inner.close());
      return closing;
    },
    get closeReason() {
      return closeReason;
    },
    get sessionId() {
      return inner.sessionId;
    },
    get hasPerRequestStream() {
      return inner.hasPerRequestStream ?? false;
    },
    setProtocolVersion: (version) => inner.setProtocolVersion?.(version),
    fail(id, error) {
      if (id !== undefined) pending.get(id)?.settle(error);
    },
    lose(reason) {
      if (closed || closeReason !== undefined) return;
      closeReason = reason;
      for (const { settle } of [...pending.values()]) settle(connectionEnded({ name, closeReason }));
      void inner.close();
    },
  };
  return transport;

  /** A server that keeps sessions can forget this one now and not when it runs out of patience. */
  async function sayGoodbye(): Promise<void> {
    if (closed || inner.sessionId === undefined || closeReason !== undefined) return;
    await soon(inner.terminateSession?.(), GOODBYE_MS);
  }

  /** Resolves once the request has been answered or given up; a rejection reaches whoever made it. */
  function request(
    message: JSONRPCMessage & { id: Id; method: string },
    from: TransportSendOptions = {},
  ): Promise<void> {
    return new Promise((resolve, reject) => {
      const abort = new AbortController();
      const giveUp = (): void => settle();
      const settle = (error?: GatewayError): void => {
        if (!pending.delete(message.id)) return;
        from.requestSignal?.removeEventListener("abort", giveUp);
        // Whatever still comes for it is of no use to anyone.
        if (error || from.requestSignal?.aborted) abort.abort();
        else setTimeout(() => abort.abort(), LINGER_MS).unref?.();
        if (error) reject(error);
        else resolve();
      };
      pending.set(message.id, { settle, abort });
      from.requestSignal?.addEventListener("abort", giveUp, { once: true });
      const onRequestStreamEnd = (): void => {
        if (from.onRequestStreamEnd) {
          from.onRequestStreamEnd();
          settle();
        } else {
          settle(connectionEnded({ name, closeReason: "the stream broke off before the answer" }));
        }
      };
      sendRelated(inner, message.id, () =>
        inner.send(message, { ...from, requestSignal: abort.signal, onRequestStreamEnd }),
      ).catch((thrown: unknown) => {
        // The SDK reads the answer to this one itself, to find out which revisions the server speaks.
        if (message.method !== "server/discover") return settle(toError(thrown));
        if (pending.delete(message.id)) reject(thrown);
      });
    });
  }

  async function note(message: JSONRPCMessage, from: TransportSendOptions | undefined): Promise<void> {
    const given = cancelled(message);
    const entry = given === undefined ? undefined : pending.get(given);
    entry?.settle();
    entry?.abort.abort();
    try {
      await inner.send(message, from);
    } catch (thrown) {
      throw toError(thrown);
    }
  }
}

function isRequest(message: JSONRPCMessage): message is JSONRPCMessage & { id: Id; method: string } {
  return "method" in message && "id" in message && message.id !== undefined;
}

/** The id of the request that a notification takes back. */
function cancelled(message: JSONRPCMessage): Id | undefined {
  if (!("method" in message) || message.method !== "notifications/cancelled") return undefined;
  const id = message.params?.["requestId"];
  return typeof id === "string" || typeof id === "number" ? id : undefined;
}

/** The SDK reports the end of its stream and a broken event in the same way; only the first has an event. */
function isStreamError(error: Error): boolean {
  return "event" in error;
}

/** Waits, but not for long, and not for success. */
async function soon(work: Promise<unknown> | undefined, ms: number): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work?.catch(() => {}), limit]);
  clearTimeout(timer);
}
