import { Buffer } from "node:buffer";
import { MessageChannel, type MessagePort } from "node:worker_threads";
import { jsonScan } from "./json.ts";

/** How much of a line is accepted. */
export interface LineLimits {
  readonly maxBytes: number;
  /** Levels of JSON nesting. */
  readonly maxDepth: number;
}

/** What comes out of the reader. */
export interface LineEvents {
  /** One line without its end, and the `id` of the JSON object in it. */
  onLine(line: Uint8Array, id: () => string | number | undefined): void;
  /** A line that was not kept. It answers the request `id`, where one was found in it. */
  onRefused(reason: "too-large" | "too-deep", id: string | number | undefined): void;
}

const NEWLINE = 0x0a;
const OPEN_ARRAY = 0x5b;
const OPEN_OBJECT = 0x7b;
/** A longer line is scanned as it comes. */
const SHORT = 65_536;

/**
 * Cuts a stream of bytes into lines. One that is too long costs no more memory than allowed and no other
 * line: the rest of it is read and dropped.
 */
export function lineReader(limits: LineLimits, events: LineEvents): (chunk: Uint8Array) => void {
  const scan = jsonScan(limits.maxDepth);
  let parts: Uint8Array[] = [];
  let size = 0;
  /** Whether the line is being scanned as it comes. */
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

  /** Only where something depends on it: it takes longer than to parse. */
  function scanAll(): void {
    if (isScanned) return;
    isScanned = true;
    for (const part of parts) scan.feed(part);
  }

  function idOf(): string | number | undefined {
    scanAll();
    return scan.id();
  }

  function finish(): void {
    if (!isScanned && mayBeDeep(parts, limits.maxDepth)) scanAll();
    if (size > limits.maxBytes) events.onRefused("too-large", idOf());
    else if (scan.tooDeep) events.onRefused("too-deep", scan.id());
    else if (size > 0) {
      const [first] = parts;
      events.onLine(parts.length === 1 && first ? first : Buffer.concat(parts), idOf);
    }
    parts = [];
    size = 0;
    if (isScanned) scan.reset();
    isScanned = false;
  }
}

/** Without more brackets than that, nothing is nested so deep, whatever is in it. */
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

let nobody: MessagePort | undefined;

/** Gives memory back at once: the collector may not come before all of a long line has passed. */
function free(part: Uint8Array): void {
  const buffer = part.buffer as ArrayBuffer & { transfer?(size: number): ArrayBuffer };
  if (part.byteLength !== buffer.byteLength) return;
  if (buffer.transfer) {
    buffer.transfer(0);
    return;
  }
  // Node 20 cannot empty a buffer, but give it away to where nobody listens.
  if (!nobody) {
    const { port1, port2 } = new MessageChannel();
    port2.close();
    nobody = port1;
  }
  nobody.postMessage(null, [buffer]);
}
