import { Buffer } from "node:buffer";
import process from "node:process";
import type { Writable } from "node:stream";
import { GatewayError } from "../../../core/mod.ts";
import { UPSTREAM_CLOSED, UPSTREAM_STALLED } from "../../../core/services/servers.ts";

interface Message {
  readonly text: string;
  readonly size: number;
  settle(error?: GatewayError): void;
}

/** The limit of messages that wait for a process that does not read. */
const MAX_QUEUED_BYTES = 16 * 1024 * 1024;
/** The size of one write; about as much as a pipe holds. */
const BATCH_BYTES = 65_536;

/** Writes to the input of a process that may have stopped reading it. `onBroken` is told when it has. */
export function createInputQueue(
  stream: Writable | null,
  deadlineMs: number,
  onBroken: (reason: string) => void,
) {
  let waiting: Message[] = [];
  let queued = 0;
  let writing = false;
  let ended = false;
  stream?.on("error", () => onBroken("its process closed its input"));

  return {
    /** Resolves when the text has left our process. */
    write: (text: string) =>
      new Promise<void>((resolve, reject) => {
        add(text, (error) => (error ? reject(error) : resolve()));
      }),
    /** Tells the process that nothing more comes. */
    end() {
      pump();
      ended = true;
      for (const { settle } of waiting) settle(closed(false));
      waiting = [];
      if (stream?.writable) stream.end();
    },
  };

  function add(text: string, settle: Message["settle"]): void {
    const size = Buffer.byteLength(text);
    if (ended || !stream?.writable) settle(closed(false));
    else if (queued > 0 && queued + size > MAX_QUEUED_BYTES)
      settle(new GatewayError(UPSTREAM_STALLED, "The server does not read what is sent to it."));
    else {
      queued += size;
      waiting.push({ text, size, settle });
      if (waiting.length === 1 && !writing) process.nextTick(pump);
    }
  }

  /** Left to the stream, all that waits would be one write, and a slow reader could not finish it in time. */
  function pump(): void {
    if (writing || waiting.length === 0) return;
    let size = 0;
    let count = 0;
    while (count < waiting.length && (count === 0 || size < BATCH_BYTES)) size += waiting[count++]?.size ?? 0;
    const batch = waiting.splice(0, count);
    const timer = setTimeout(
      () => onBroken(`its process did not read its input for ${deadlineMs} ms`),
      deadlineMs,
    );
    writing = true;
    stream?.write(batch.map(({ text }) => text).join(""), (error) => {
      clearTimeout(timer);
      writing = false;
      queued -= size;
      // The last line of an incomplete write was not read whole, so the process cannot have acted on it.
      const last = batch.at(-1);
      for (const message of batch) {
        message.settle(error ? closed(message !== last || !isRefused(error), error) : undefined);
      }
      pump();
    });
  }
}

/** Whether the process had closed its input; a write that failed otherwise may have arrived. */
function isRefused({ code }: NodeJS.ErrnoException): boolean {
  return code === "EPIPE" || code === "ECONNRESET";
}

function closed(maybeSent: boolean, cause?: unknown): GatewayError {
  return new GatewayError(UPSTREAM_CLOSED, "The server's process takes no more input.", {
    cause,
    data: maybeSent ? {} : { sent: false },
  });
}
