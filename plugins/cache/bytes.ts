import { createHash } from "node:crypto";

/** Format of stored bytes; another one was written by another version and is not read. */
const FORMAT = "toolpipe-bytes-1";
/** Numbers of any size can be read in place if they begin at a multiple of this. */
const ALIGNMENT = 8;
const HASH_BYTES = 32;
const NEWLINE = 10;
/** Maximal length of the header line. */
const MAX_LINE = 4_096;

/** Bytes with their expiry. */
export interface ExpiringBytes {
  readonly bytes: Uint8Array;
  readonly expires: number;
}

/** Writes the hash of the rest, a header line, and the bytes. */
export function packBytes(key: string, { bytes, expires }: ExpiringBytes): Uint8Array {
  const line = Buffer.from(JSON.stringify({ format: FORMAT, key, expires }));
  const begin = Math.ceil((HASH_BYTES + line.length + 1) / ALIGNMENT) * ALIGNMENT;
  const all = Buffer.alloc(begin + bytes.length, " ");
  all.set(line, HASH_BYTES);
  all[begin - 1] = NEWLINE;
  all.set(bytes, begin);
  all.set(hashOf(all.subarray(HASH_BYTES)));
  return all;
}

/** Reads intact bytes that were packed under this key, as an aligned view. */
export function unpackBytes(key: string, packed: Uint8Array): ExpiringBytes | undefined {
  const { buffer, byteOffset, byteLength } =
    packed.byteOffset % ALIGNMENT === 0 ? packed : Uint8Array.from(packed);
  const all = Buffer.from(buffer, byteOffset, byteLength);
  const end = all.subarray(0, MAX_LINE).indexOf(NEWLINE, HASH_BYTES);
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
