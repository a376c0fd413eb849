import { Buffer } from "node:buffer";
import { MessageChannel, type MessagePort } from "node:worker_threads";
import { createJsonScan } from "./json.ts";

/** Limits of one line. */
export interface LineLimits {
  readonly maxBytes: number;
  /** Levels of JSON nesting. */
  readonly maxDepth: number;
}

interface LineEvents {
  /** Called with a line without its end, and a function that finds the `id` of the JSON object in it. */
  onLine(line: Uint8Array, id: () => string | number | undefined): void;
  /** Called for a dropped line, with the `id` of the request that it answers, if one was found. */
  onRefused(reason: "too-large" | "too-deep", id: string | number | undefined): void;
}

const NEWLINE = 0x0a;
const OPEN_ARRAY = 0x5b;
const OPEN_OBJECT = 0x7b;
/** Longer lines are scanned as they come in. */
const SHORT = 65_536;

/**
 * Cuts a stream of bytes into lines. One that is too long costs no more memory than allowed and no other
 * line: the rest of it is read and dropped.
 */
export function createLineReader(limits: LineLimits, events: LineEvents): (chunk: Uint8Array) => void {
  const scan = createJsonScan(limits.maxDepth);
  let parts: Uint8Array[] = [];
  let size = 0;
  let isScanned = false;

  return (chunk) => {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      take(chunk.subarray(start, end));
      finish();
      start = end + 1;
    }
    take(chunk.subarray(start));
  };

  function take(part: Uint8Array): void {
    if (part.length === 0) return;
    size += part.length;
    parts.push(part);
    if (isScanned) scan.feed(part);
    else if (size > SHORT || size > limits.maxBytes) scanAll();
    if (size <= limits.maxBytes) return;
    for (const dropped of parts) free(dropped);
    parts = [];
  }

  /** Called only if the result is needed: a scan takes longer than parsing. */
  function scanAll(): void {
    if (isScanned) return;
    isScanned = true;
    for (const part of parts) scan.feed(part);
  }

  function readId(): string | number | undefined {
    scanAll();
    return scan.id();
  }

  function finish(): void {
    if (!isScanned && mayBeDeep(parts, limits.maxDepth)) scanAll();
    if (size > limits.maxBytes) events.onRefused("too-large", readId());
    else if (scan.tooDeep) events.onRefused("too-deep", scan.id());
    else if (size > 0) {
      const [first] = parts;
      events.onLine(parts.length === 1 && first ? first : Buffer.concat(parts), readId);
    }
    parts = [];
    size = 0;
    if (isScanned) scan.reset();
    isScanned = false;
  }
}

/** Fewer brackets than the limit cannot be nested deeper than it. */
function mayBeDeep(parts: readonly Uint8Array[], maxDepth: number): boolean {
  let left = maxDepth;
  for (const part of parts) {
    for (let index = 0; index < part.length; index++) {
      const byte = part[index];
      if ((byte === OPEN_ARRAY || byte === OPEN_OBJECT) && --left < 0) return true;
    }
  }
  return false;
}

let closedPort: MessagePort | undefined;

/** Frees memory at once: the garbage collector may not run before a long line has passed. */
function free(part: Uint8Array): void {
  const buffer = part.buffer as ArrayBuffer & { transfer?(size: number): ArrayBuffer };
  if (part.byteLength !== buffer.byteLength) return;
  if (buffer.transfer) {
    buffer.transfer(0);
    return;
  }
  // Node 20 cannot empty a buffer, but it can transfer it to a closed port.
  if (!closedPort) {
    const { port1, port2 } = new MessageChannel();
    port2.close();
    closedPort = port1;
  }
  closedPort.postMessage(null, [buffer]);
}
