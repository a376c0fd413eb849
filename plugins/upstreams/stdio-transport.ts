import type { JSONRPCMessage, RequestId, Transport } from "@modelcontextprotocol/client";
import { GatewayError, isJsonObject } from "../../core/mod.ts";
import { faultOf } from "./_foreign-json.ts";
import { type Child, type ChildCommand, startChild } from "./child.ts";
import { RESPONSE_TOO_DEEP, RESPONSE_TOO_LARGE, UPSTREAM_CLOSED, UPSTREAM_PROTOCOL } from "./errors.ts";
import { type LineLimits, lineReader } from "./lines.ts";

/** What a process wrote that was no use, counted. */
export interface StdioCounters {
  /** Lines that are not messages: logs, colours, banners. */
  noise: number;
  /** Answers to no request of ours, or to one already answered. */
  unmatched: number;
  tooLarge: number;
  tooDeep: number;
  /** Lines that are not UTF-8. */
  notText: number;
  /** Messages with keys that reach a prototype. */
  forbidden: number;
}

/** The transport of the protocol over a process's standard input and output. */
export interface StdioTransport extends Transport {
  /** The process's id, once it is started. */
  readonly pid: number | null;
  /** The last of what it wrote to its error output. For a person to read: it may hold anything. */
  readonly stderr: string;
  readonly counters: Readonly<StdioCounters>;
  /** Whether it writes so much noise that something is wrong with it; it is used all the same. */
  readonly degraded: boolean;
  /** Why the connection ended, if it did; completes "because". */
  readonly closeReason: string | undefined;
}

/** What one message of a server may be: 10 MB, 64 levels deep. */
export const messageLimits: LineLimits = Object.freeze({ maxBytes: 10_000_000, maxDepth: 64 });

const TOLERATED_NOISE = 100;
const INTERNAL_ERROR = -32603;

/** Makes the transport of one process, which `start` starts. */
export function stdioTransport(command: ChildCommand, limits: LineLimits = messageLimits): StdioTransport {
  const counters: StdioCounters = {
    noise: 0,
    unmatched: 0,
    tooLarge: 0,
    tooDeep: 0,
    notText: 0,
    forbidden: 0,
  };
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const pending = new Set<RequestId>();
  let starting: Promise<Child> | undefined;
  let child: Child | undefined;
  let closed = false;
  let closeReason: string | undefined;

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
    counters,
    async start() {
      starting = startChild(command, { onOutput, onEnded });
      child = await starting;
    },
    async send(message) {
      if (closed || !child) throw new GatewayError(UPSTREAM_CLOSED, "The server's process is not running.");
      const text = `${JSON.stringify(message)}\n`;
      note(message);
      await child.write(text);
    },
    async close() {
      finish();
      await starting?.then(
        (started) => started.close(),
        () => {},
      );
    },
  };

  const onOutput = lineReader(limits, {
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

  /** Remembers which requests are under way, so that no answer reaches a caller it is not for. */
  function note(message: JSONRPCMessage): void {
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
      if (text.trim() !== "") counters.noise++;
      return;
    }
    for (const message of Array.isArray(value) ? value : [value]) receive(message);
  }

  function receive(message: unknown): void {
    if (closed) return;
    if (!isJsonObject(message) || message["jsonrpc"] !== "2.0") counters.noise++;
    else if ("method" in message) {
      // What a request or a notification holds is used by others; an answer is checked where it is used.
      if (faultOf(message) === undefined) deliver(message);
      else counters.forbidden++;
    } else if (!pending.delete(message["id"] as RequestId)) counters.unmatched++;
    else deliver(answer(message));
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

/** An answer in the exact form: with a key too many, it would be taken for no answer at all and waited for in vain. */
function answer({ id, result, error }: Record<string, unknown>): object {
  if (error === undefined || error === null) {
    if (isJsonObject(result)) return { jsonrpc: "2.0", id, result };
    const message = "The answer holds neither a result nor an error.";
    const data = new GatewayError(UPSTREAM_PROTOCOL, message);
    return { jsonrpc: "2.0", id, error: { code: INTERNAL_ERROR, message, data } };
  }
  const { code, message, data } = isJsonObject(error)
    ? error
    : { code: undefined, message: error, data: undefined };
  return {
    jsonrpc: "2.0",
    id,
    error: {
      code: Number.isSafeInteger(code) ? code : INTERNAL_ERROR,
      message: typeof message === "string" ? message : "unknown",
      ...(data === undefined ? {} : { data }),
    },
  };
}
