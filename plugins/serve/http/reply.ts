import { Buffer } from "node:buffer";
import type { ServerResponse } from "node:http";
import { HttpRefusal } from "../../lib/jsonrpc.ts";

/** Time limits of a reply. */
export interface ReplyLimits {
  /** Milliseconds between the keep-alive comments that a waiting client gets. */
  readonly keepAliveMs: number;
  /** Milliseconds that a client has to read what it was sent. */
  readonly stallMs: number;
}

/** The reply to one HTTP request: one JSON document, or a stream of events. */
export interface Reply {
  /** Starts a stream at once. */
  open(): void;
  /** Sends a message ahead of the answer, to a client that can take it; returns whether it was sent. */
  notify(message: object): boolean;
  /** Sends the answer, or those to a batch, and ends. */
  answer(message: object | readonly object[], status?: number): void;
  /** Ends without an answer. */
  end(): void;
}

/** Bytes that are buffered for a slow client; later notifications are dropped. */
const MAX_UNREAD_BYTES = 1_000_000;

/** The kinds of reply that a client accepts. Throws a {@link HttpRefusal} if it accepts none. */
export function parseAccept(accept = "*/*"): { readonly json: boolean; readonly stream: boolean } {
  const accepted = {
    json: /\*\/\*|application\/(\*|json)/i.test(accept),
    stream: /text\/event-stream/i.test(accept),
  };
  if (accepted.json || accepted.stream) return accepted;
  throw new HttpRefusal(
    406,
    "Answers come as application/json or as text/event-stream, and neither is accepted.",
  );
}

/** Creates the reply to a request: JSON, unless a notification precedes the answer or the answer takes long. */
export function createReply(
  response: ServerResponse,
  accepted: { readonly json: boolean; readonly stream: boolean },
  { keepAliveMs, stallMs }: ReplyLimits,
  headers: Readonly<Record<string, string>> = {},
): Reply {
  let isStream = false;
  let stalled: ReturnType<typeof setTimeout> | undefined;
  const beat = setInterval(() => {
    if (isStream) write(": still here\n\n");
    else open();
  }, keepAliveMs);
  const unstall = (): void => {
    clearTimeout(stalled);
    stalled = undefined;
  };
  response.on("drain", unstall);
  response.once("close", () => {
    clearInterval(beat);
    unstall();
  });
  // A lost connection is noticed by its `close` event.
  response.on("error", () => {});

  return {
    open,
    notify(message) {
      open();
      if (!isStream || isOver() || response.writableLength > MAX_UNREAD_BYTES) return false;
      write(toEvent(message));
      return true;
    },
    answer(message, status = 200) {
      if (isOver()) return;
      if (!accepted.json) open();
      if (isStream) return finish([message].flat().map(toEvent).join(""));
      const body = Buffer.from(JSON.stringify(message));
      response.writeHead(status, {
        ...headers,
        "content-type": "application/json",
        "content-length": body.length,
      });
      finish(body);
    },
    end() {
      if (isOver()) return;
      open();
      if (!isStream) response.writeHead(204, headers);
      finish();
    },
  };

  function open(): void {
    if (isStream || !accepted.stream || isOver()) return;
    isStream = true;
    response.writeHead(200, {
      ...headers,
      "content-type": "text/event-stream",
      "cache-control": "no-cache, no-transform",
      // A proxy that collects the stream before it passes it on would keep everything back.
      "x-accel-buffering": "no",
    });
    response.flushHeaders();
  }

  function write(text: string): void {
    if (!isOver() && !response.write(text)) watch();
  }

  function finish(last?: string | Buffer): void {
    clearInterval(beat);
    response.end(last);
    watch();
  }

  function watch(): void {
    stalled ??= setTimeout(() => response.destroy(), stallMs);
  }

  function isOver(): boolean {
    return response.destroyed || response.writableEnded;
  }
}

function toEvent(message: object): string {
  return `event: message\ndata: ${JSON.stringify(message)}\n\n`;
}
