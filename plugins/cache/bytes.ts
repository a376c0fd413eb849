import { createHash } from "node:crypto";

/** The form of what is stored; another one was written by another version and is not read. */
const FORMAT = "toolpipe-bytes-1";
/** Numbers of any size can be read where they are if all begins at a multiple of this. */
const ALIGNMENT = 8;
const HASH_BYTES = 32;
const NEWLINE = 10;
/** No line that tells what follows is longer. */
const LONGEST_LINE = 4_096;

/** Bytes that are kept until a time. */
export interface KeptBytes {
  readonly bytes: Uint8Array;
  readonly expires: number;
}

/** A hash of all that follows, a line that tells what it is, and the bytes as they are. */
export function packBytes(key: string, { bytes, expires }: KeptBytes): Uint8Array {
  const line = Buffer.from(JSON.stringify({ format: FORMAT, key, expires }));
  const begin = Math.ceil((HASH_BYTES + line.length + 1) / ALIGNMENT) * ALIGNMENT;
  const all = Buffer.alloc(begin + bytes.length, " ");
  all.set(line, HASH_BYTES);
  all[begin - 1] = NEWLINE;
  all.set(bytes, begin);
  all.set(hashOf(all.subarray(HASH_BYTES)));
  return all;
}

/** What was packed under this key, if it is whole. The bytes are a view, and begin where numbers can be read. */
export function unpackBytes(key: string, packed: Uint8Array): KeptBytes | undefined {
  const { buffer, byteOffset, byteLength } =
    packed.byteOffset % ALIGNMENT === 0 ? packed : Uint8Array.from(packed);
  const all = Buffer.from(buffer, byteOffset, byteLength);
  const end = all.subarray(0, LONGEST_LINE).indexOf(NEWLINE, HASH_BYTES);
  if (end < 0 || !hashOf(all.subarray(HASH_BYTES)).equals(all.subarray(0, HASH_BYTES))) return;
  try {
    const { format, key: ownKey, expires } = JSON.parse(all.toString("utf8", HASH_BYTES, end));
    if (format !== FORMAT || ownKey !== key) return;
    return {
      bytes: new Uint8Array(buffer, byteOffset + end + 1, byteLength - end - 1),
      expires: Number(expires),
    };
  } catch {
    return;
  }
}

function hashOf(bytes: Uint8Array): Buffer {
  return createHash("sha256").update(bytes).digest();
}
