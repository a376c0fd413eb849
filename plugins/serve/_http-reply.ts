import { Buffer } from "node:buffer";
import type { ServerResponse } from "node:http";
import { Refusal } from "./_http-refusal.ts";

/** How a reply treats a client that waits, or one that does not read. */
export interface ReplyLimits {
  /** How often a client that waits hears that it is not forgotten. */
  readonly keepAliveMs: number;
  /** How long a client may take to read what it was sent. */
  readonly stallMs: number;
}

/** What goes back to a client for one request of HTTP: one piece of JSON, or a stream of events. */
export interface Reply {
  /** Begins a stream at once. */
  open(): void;
  /** Sends a message ahead of the answer, to a client that can take it; returns whether it was sent. */
  notify(message: object): boolean;
  /** Sends the answer, or those to a batch, and ends. */
  answer(message: object | readonly object[], status?: number): void;
  /** Ends without an answer. */
  end(): void;
}

/** What nobody reads is kept up to here; later notices are dropped. */
const MAX_UNREAD_BYTES = 1_000_000;

/** Which kinds of reply a client takes. One that takes none is refused. */
export function acceptedOf(accept = "*/*"): { readonly json: boolean; readonly stream: boolean } {
  const accepted = {
    json: /\*\/\*|application\/(\*|json)/i.test(accept),
    stream: /text\/event-stream/i.test(accept),
  };
  if (accepted.json || accepted.stream) return accepted;
  throw new Refusal(
    406,
    "Answers come as application/json or as text/event-stream, and neither is accepted.",
  );
}

/** Makes the reply to a request. It is JSON unless something comes before the answer, or the answer takes long. */
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
  // A client that has gone is noticed by its going.
  response.on("error", () => {});

  return {
    open,
    notify(message) {
      open();
      if (!isStream || isOver() || response.writableLength > MAX_UNREAD_BYTES) return false;
      write(eventOf(message));
      return true;
    },
    answer(message, status = 200) {
      if (isOver()) return;
      if (!accepted.json) open();
      if (isStream) return finish([message].flat().map(eventOf).join(""));
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

function eventOf(message: object): string {
  return `event: message\ndata: ${JSON.stringify(message)}\n\n`;
}
