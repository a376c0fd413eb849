import { GatewayError } from "../../core/mod.ts";
import { type JsonScan, jsonScan } from "../_json-scan.ts";
import { RESPONSE_TOO_LARGE } from "./errors.ts";

/** The body of a response as the runtime gives it: already decompressed. */
export type Body = ReadableStream<Uint8Array<ArrayBuffer>>;
type Chunk = Uint8Array<ArrayBuffer>;

/** What looks at every chunk of a body. What it returns is passed on. */
interface Filter {
  chunk(chunk: Chunk): readonly Chunk[];
  end(): readonly Chunk[];
}

/** The error for an answer that is larger than allowed. */
export function tooLarge(maxBytes: number): GatewayError {
  return new GatewayError(RESPONSE_TOO_LARGE, `The server's answer is larger than ${maxBytes} bytes.`, {
    data: { maxBytes },
  });
}

/** Passes a body on, and fails once it has become larger than allowed. */
export function wholeBody(maxBytes: number): Filter {
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
 * Passes a stream of events on, one whole event at a time, without those that are larger than allowed.
 * The stream goes on after such an event, for it may carry the answers of other calls. `onDropped` is called
 * as soon as an event is too large, and again at its end with the `id` of the message in it, if it has one.
 */
export function eventsOf(maxBytes: number, onDropped: (id: string | number | undefined) => void): Filter {
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
        // The second half of a line end that has been seen already.
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
    dropped = jsonScan(0);
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

/** Reads a body through a filter. `onEnd` is called once, however it ends; `toError` says why it failed. */
export function filtered(
  body: Body,
  filter: Filter,
  onEnd: () => void,
  toError: (thrown: unknown) => unknown,
): Body {
  const reader = body.getReader();
  return new ReadableStream<Chunk>({
    async pull(controller) {
      try {
        for (;;) {
          const { done, value } = await reader.read();
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
        // Not awaited: a stream that has failed may never say that it has been cancelled.
        reader.cancel(thrown).catch(() => {});
      }
    },
    async cancel(reason) {
      onEnd();
      await reader.cancel(reason);
    },
  });
}
