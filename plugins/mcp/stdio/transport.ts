import type { JSONRPCMessage, RequestId, Transport } from "@modelcontextprotocol/client";
import { GatewayError, isJsonObject, type JsonObject } from "../../../core/mod.ts";
import {
  RESPONSE_TOO_DEEP,
  RESPONSE_TOO_LARGE,
  UPSTREAM_CLOSED,
  UPSTREAM_PROTOCOL,
} from "../../../core/services/servers.ts";
import { findJsonFault } from "../../lib/json.ts";
import { createLineReader, type LineLimits } from "../../lib/lines.ts";
import type { RpcErrorObject } from "../errors.ts";
import { type Child, type ChildCommand, startChild } from "./process.ts";

/** Counts of unusable output. */
const noCounts = {
  /** Lines that are not messages: logs, colors, banners. */
  noise: 0,
  /** Answers to no request of ours, or to one already answered. */
  unmatched: 0,
  tooLarge: 0,
  tooDeep: 0,
  /** Lines that are not UTF-8. */
  notText: 0,
  /** Messages with keys that reach a prototype. */
  forbidden: 0,
};

/** The transport of the protocol over a process's standard input and output. */
export interface StdioTransport extends Transport {
  /** Starts the process, which gets ready while the SDK is loaded; `start` waits for it. */
  prepare(): void;
  /** The process's id, once it is started. */
  readonly pid: number | null;
  /** The end of its error output. For users to read: it may hold anything. */
  readonly stderr: string;
  readonly counters: Readonly<typeof noCounts>;
  /** Whether the process writes so much noise that it is likely broken; it is used all the same. */
  readonly degraded: boolean;
  /** Reason for the end of the connection; completes "because". */
  readonly closeReason: string | undefined;
  /** Reason for which the process ended by itself, known at the latest once `close` is over. */
  readonly endReason: string | undefined;
  /** Time of the last output, on the clock of `performance.now()`. */
  readonly heardAt: number;
}

/** Limits of one message of a server: 10 MB, 64 levels deep. */
export const messageLimits: LineLimits = Object.freeze({ maxBytes: 10_000_000, maxDepth: 64 });

const TOLERATED_NOISE = 100;
/** The number of lines that answer nothing, above which no more output is read until the end of the window. */
const MAX_NOTICES = 1_000;
const WINDOW_MS = 100;
const INTERNAL_ERROR = -32603;

/** Creates the transport of one process, which `start` starts. */
export function createStdioTransport(
  command: ChildCommand,
  limits: LineLimits = messageLimits,
): StdioTransport {
  const counters = { ...noCounts };
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const pending = new Set<RequestId>();
  let starting: Promise<Child> | undefined;
  let child: Child | undefined;
  let closed = false;
  let closeReason: string | undefined;
  let heardAt = 0;
  /** Lines of this window that answer nothing. */
  let notices = 0;
  let windowAt = 0;

  const transport: StdioTransport = {
    get pid() {
      return child?.pid ?? null;
    },
    get stderr() {
      return child?.errorOutput() ?? "";
    },
    get degraded() {
      return counters.noise > TOLERATED_NOISE;
    },
    get closeReason() {
      return closeReason;
    },
    get endReason() {
      return closeReason ?? child?.endReason();
    },
    get heardAt() {
      return heardAt;
    },
    counters,
    prepare() {
      starting = startChild(command, { onOutput, onEnded });
      // The reason of a failure is given by `start`.
      starting.catch(() => {});
    },
    async start() {
      if (!starting) this.prepare();
      child = await starting;
    },
    send(message) {
      try {
        if (closed || !child) throw notRunning();
        const text = `${JSON.stringify(message)}\n`;
        track(message);
        return child.write(text);
      } catch (thrown) {
        return Promise.reject(thrown);
      }
    },
    async close() {
      finish();
      await starting?.then(
        (started) => started.close(),
        () => {},
      );
    },
  };

  const readOutput = createLineReader(limits, {
    onLine(line, id) {
      const text = decode(line, id);
      if (text !== undefined) read(text);
    },
    onRefused(reason, id) {
      if (reason === "too-large") {
        counters.tooLarge++;
        refuse(id, RESPONSE_TOO_LARGE, `The answer is larger than ${limits.maxBytes} bytes.`);
      } else {
        counters.tooDeep++;
        refuse(id, RESPONSE_TOO_DEEP, `The answer is nested deeper than ${limits.maxDepth} levels.`);
      }
    },
  });
  return transport;

  function onOutput(chunk: Uint8Array): void {
    heardAt = performance.now();
    readOutput(chunk);
    limitNotices();
  }

  /** A server that floods the gateway has to wait: all others share the thread that reads its output. */
  function limitNotices(): void {
    if (heardAt - windowAt >= WINDOW_MS) {
      windowAt = heardAt;
      notices = 0;
    } else if (notices > MAX_NOTICES) {
      child?.pauseOutput(Math.ceil(windowAt + WINDOW_MS - heardAt));
    }
  }

  function onEnded(reason: string): void {
    closeReason = reason;
    finish();
  }

  function finish(): void {
    if (closed) return;
    closed = true;
    pending.clear();
    transport.onclose?.();
  }

  /** Tracks the pending requests, so that no answer reaches another caller. */
  function track(message: JSONRPCMessage): void {
    if (!("method" in message)) return;
    if ("id" in message) pending.add(message.id);
    else if (message.method === "notifications/cancelled") {
      pending.delete((message.params as { requestId?: RequestId } | undefined)?.requestId as RequestId);
    }
  }

  function decode(line: Uint8Array, id: () => RequestId | undefined): string | undefined {
    try {
      return decoder.decode(line);
    } catch {
      counters.notText++;
      refuse(id(), UPSTREAM_PROTOCOL, "The answer is not valid UTF-8.");
      return undefined;
    }
  }

  function read(text: string): void {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      notices++;
      if (text.trim() !== "") counters.noise++;
      return;
    }
    for (const message of Array.isArray(value) ? value : [value]) receive(message);
  }

  function receive(message: unknown): void {
    if (closed) return;
    if (!isJsonObject(message) || message["jsonrpc"] !== "2.0") counters.noise++;
    else if ("method" in message) {
      notices++;
      // Requests and notifications are used as they are; an answer is checked where it is used.
      if (findJsonFault(message) === undefined) deliver(message);
      else counters.forbidden++;
    } else settle(message["id"] as RequestId, message);
  }

  function settle(id: RequestId, message: JsonObject): void {
    if (pending.delete(id)) deliver(toAnswer(message));
    else counters.unmatched++;
  }

  function refuse(id: RequestId | undefined, kind: typeof UPSTREAM_PROTOCOL, message: string): void {
    const error = new GatewayError(kind, message);
    if (id === undefined || !pending.delete(id)) transport.onerror?.(error);
    // As an object of ours it cannot be mistaken for what a server says of its own error.
    else deliver({ jsonrpc: "2.0", id, error: { code: INTERNAL_ERROR, message, data: error } });
  }

  function deliver(message: object): void {
    try {
      transport.onmessage?.(message as JSONRPCMessage);
    } catch (thrown) {
      transport.onerror?.(thrown instanceof Error ? thrown : new Error(String(thrown)));
    }
  }
}

/** Leaves out unknown keys: the SDK takes a message with one key too many for no answer at all. */
function toAnswer(message: JsonObject): object {
  const { id, result } = message;
  if (isJsonObject(result) && !hasError(message)) return { jsonrpc: "2.0", id, result };
  return { jsonrpc: "2.0", id, error: toRpcError(message) };
}

function hasError({ error }: JsonObject): boolean {
  return error !== undefined && error !== null;
}

function toRpcError(answer: JsonObject): RpcErrorObject {
  if (!hasError(answer)) {
    const message = "The answer holds neither a result nor an error.";
    return { code: INTERNAL_ERROR, message, data: new GatewayError(UPSTREAM_PROTOCOL, message) };
  }
  const { error } = answer;
  const { code, message, data } = isJsonObject(error)
    ? error
    : { code: undefined, message: error, data: undefined };
  return {
    code: Number.isSafeInteger(code) ? (code as number) : INTERNAL_ERROR,
    message: typeof message === "string" ? message : "unknown",
    ...(data === undefined ? {} : { data }),
  };
}

function notRunning(): GatewayError {
  return new GatewayError(UPSTREAM_CLOSED, "The server's process is not running.", { data: { sent: false } });
}
