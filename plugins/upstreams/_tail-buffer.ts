/** Keeps the last bytes of a stream. */
export interface TailBuffer {
  push(chunk: Uint8Array): void;
  text(): string;
}

/** Makes a buffer that keeps the last `size` bytes it was given. */
export function tailBuffer(size: number): TailBuffer {
  let ring: Uint8Array | undefined;
  let written = 0;
  return {
    push(chunk) {
      // Made on first use: most servers write nothing there.
      ring ??= new Uint8Array(size);
      const kept = chunk.length > size ? chunk.subarray(chunk.length - size) : chunk;
      const start = (written + chunk.length - kept.length) % size;
      const untilEdge = Math.min(kept.length, size - start);
      ring.set(kept.subarray(0, untilEdge), start);
      ring.set(kept.subarray(untilEdge), 0);
      written += chunk.length;
    },
    text() {
      if (!ring) return "";
      const edge = written % size;
      const decoder = new TextDecoder();
      if (written <= size) return decoder.decode(ring.subarray(0, written));
      return decoder.decode(ring.subarray(edge), { stream: true }) + decoder.decode(ring.subarray(0, edge));
    },
  };
}
