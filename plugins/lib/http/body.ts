import { pipeline, type Readable, type Transform } from "node:stream";
import { constants, createBrotliDecompress, createUnzip } from "node:zlib";
import { GatewayError } from "../../../core/mod.ts";
import { UPSTREAM_PROTOCOL } from "../../../core/services/servers.ts";
import { createJsonScan, type JsonScan } from "../json.ts";
import { tooLarge } from "./errors.ts";

type Chunk = Uint8Array<ArrayBuffer>;

/** Filter of a body: the chunks that its functions return are passed on. */
interface BodyFilter {
  chunk(chunk: Chunk): readonly Chunk[];
  end(): readonly Chunk[];
}

/** Passes a body on, and fails once it has become larger than allowed. */
export function limitBody(maxBytes: number): BodyFilter {
  let size = 0;
  return {
    chunk(chunk) {
      size += chunk.length;
      if (size > maxBytes) throw tooLarge(maxBytes);
      return [chunk];
    },
    end: () => [],
  };
}

const LF = 10;
const CR = 13;

/**
 * Passes a stream of events on, one whole event at a time, without those that are larger than allowed. The stream goes
 * on after such an event, for it may carry the answers of other calls. `onDropped` is called as soon as an event is too
 * large, and again at its end with the `id` of the message in it, if it has one.
 */
export function limitEvents(
  maxBytes: number,
  onDropped: (id: string | number | undefined) => void,
): BodyFilter {
  let held: Chunk[] = [];
  let size = 0;
  let dropped: JsonScan | undefined;
  let emptyLine = true;
  let afterCr = false;

  return {
    chunk(chunk) {
      const passed: Chunk[] = [];
      let start = 0;
      for (let index = 0; index < chunk.length; index++) {
        const byte = chunk[index];
        // The second half of a line end whose first half has ended the event already.
        const paired = byte === LF && afterCr;
        afterCr = byte === CR;
        const ends = (byte === LF || byte === CR) && !paired;
        if (paired ? size === 0 && index === start : ends && emptyLine) {
          const next = index + 1;
          hold(chunk.subarray(start, next));
          passed.push(...release());
          start = next;
        }
        if (!paired) emptyLine = ends;
      }
      hold(chunk.subarray(start));
      return passed;
    },
    end: release,
  };

  function hold(part: Chunk): void {
    size += part.length;
    dropped?.feed(part);
    if (dropped) return;
    held.push(part);
    if (size <= maxBytes) return;
    dropped = createJsonScan(0);
    for (const bytes of held) dropped.feed(bytes);
    held = [];
    onDropped(undefined);
  }

  function release(): Chunk[] {
    const whole = held.filter((part) => part.length > 0);
    const id = dropped?.id();
    held = [];
    size = 0;
    dropped = undefined;
    if (id !== undefined) onDropped(id);
    return whole;
  }
}

/** Reads a body through a filter. `onEnd` is called once it ends or fails; `toError` translates a failure. */
export function filterBody(
  body: Readable,
  filter: BodyFilter,
  onEnd: () => void,
  toError: (thrown: unknown) => unknown,
): ReadableStream<Chunk> {
  const chunks = body[Symbol.asyncIterator]() as AsyncIterator<Chunk>;
  return new ReadableStream<Chunk>({
    async pull(controller) {
      try {
        for (;;) {
          const { done, value } = await chunks.next();
          const passed = done ? filter.end() : filter.chunk(value);
          for (const chunk of passed) controller.enqueue(chunk);
          if (done) {
            onEnd();
            controller.close();
            return;
          }
          if (passed.length > 0) return;
        }
      } catch (thrown) {
        onEnd();
        controller.error(toError(thrown));
        body.destroy();
      }
    },
    cancel() {
      onEnd();
      body.destroy();
    },
  });
}

/** Reads a body as a whole, and fails once it has become larger than allowed. */
export async function collectBody(body: Readable, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) throw tooLarge(maxBytes);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Content codings that are asked for and understood. */
export const ACCEPT_ENCODING = "gzip, br";

// Flushed at every chunk: an event of a compressed stream must not wait for the next one. At the end as well, as in
// browsers: an empty body is often said to be compressed, and how a body is framed tells whether it is whole.
const unzip = (): Transform =>
  createUnzip({ flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH });
const flushed = {
  flush: constants.BROTLI_OPERATION_FLUSH,
  finishFlush: constants.BROTLI_OPERATION_FLUSH,
};
const decoders: ReadonlyMap<string, () => Transform> = new Map([
  ["gzip", unzip],
  ["x-gzip", unzip],
  ["deflate", unzip],
  ["br", () => createBrotliDecompress(flushed)],
]);
/** Not encoded; some servers write the character set here. */
const IDENTITY = /^(identity|none|utf-?8)?$/;
/** Limit of layers: each multiplies the size that a small body can grow to. */
const MAX_LAYERS = 3;

/** Decompresses a body as it is read. Its consumer limits what it becomes. */
export function unpack(body: Readable, coding = ""): Readable {
  const layers = coding
    .split(",")
    .map((layer) => layer.trim().toLowerCase())
    .filter((layer) => !IDENTITY.test(layer))
    .map((layer) => decoders.get(layer));
  if (layers.length > MAX_LAYERS) throw toUnpackError();
  let unpacked = body;
  for (const create of layers.reverse()) {
    if (!create) throw toUnpackError();
    const decoder = create();
    // The reader of the last stream sees an error.
    pipeline(unpacked, decoder, () => {});
    unpacked = decoder.on("error", () => {});
  }
  return unpacked;
}

/** The error for a body that is not compressed as its headers say. */
export function toUnpackError(cause?: unknown): GatewayError {
  return new GatewayError(UPSTREAM_PROTOCOL, "The answer is compressed in a way that cannot be read.", {
    cause,
  });
}
