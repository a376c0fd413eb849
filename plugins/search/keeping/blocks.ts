/** Numbers of any size can be read where they are if they begin at a multiple of this. */
const ALIGNMENT = 8;
const LENGTH_BYTES = 4;

/** What {@link writeBlocks} wrote. */
export interface Blocks {
  /** The JSON value that describes the blocks. */
  readonly header: unknown;
  /** Views of the bytes that were read; each begins where numbers can be read. */
  readonly blocks: readonly Uint8Array<ArrayBuffer>[];
}

/** Writes arrays of numbers one after another, behind a mark of their kind and version and what describes them. */
export function writeBlocks(
  mark: string,
  header: unknown,
  arrays: readonly (readonly ArrayBufferView[])[],
): Uint8Array {
  const lengths = arrays.map((parts) => parts.reduce((sum, { byteLength }) => sum + byteLength, 0));
  const text = Buffer.from(JSON.stringify({ mark, lengths, header }));
  let at = aligned(LENGTH_BYTES + text.length);
  const all = Buffer.alloc(lengths.reduce((sum, length) => sum + aligned(length), at));
  all.writeUInt32LE(text.length, 0);
  all.set(text, LENGTH_BYTES);
  for (const parts of arrays) {
    for (const { buffer, byteOffset, byteLength } of parts) {
      all.set(new Uint8Array(buffer, byteOffset, byteLength), at);
      at += byteLength;
    }
    at = aligned(at);
  }
  return all;
}

/** Reads what was written with this mark; nothing if it is something else, or not all of it. */
export function readBlocks(mark: string, given: Uint8Array): Blocks | undefined {
  if (given.length < LENGTH_BYTES) return;
  const { buffer, byteOffset, byteLength } =
    given.byteOffset % ALIGNMENT === 0 ? (given as Uint8Array<ArrayBuffer>) : Uint8Array.from(given);
  const all = Buffer.from(buffer, byteOffset, byteLength);
  const textLength = all.readUInt32LE(0);
  try {
    const read = JSON.parse(all.toString("utf8", LENGTH_BYTES, LENGTH_BYTES + textLength));
    if (read.mark !== mark) return;
    let at = aligned(LENGTH_BYTES + textLength);
    const blocks = (read.lengths as number[]).map((length) => {
      const block = new Uint8Array(buffer, byteOffset + at, length);
      at += aligned(length);
      return block;
    });
    return at === byteLength ? { header: read.header, blocks } : undefined;
  } catch {
    return;
  }
}

function aligned(length: number): number {
  return Math.ceil(length / ALIGNMENT) * ALIGNMENT;
}
