import { inflateRawSync } from "node:zlib";

/** One file of an archive. */
interface ZippedFile {
  /** Its path within the archive, with slashes; it cannot lead outside. */
  readonly path: string;
  readonly isExecutable: boolean;
  /** Unpacks it. */
  read(): Uint8Array;
}

/** Limits of an archive. */
interface ZipLimits {
  readonly files: number;
  /** Total size once unpacked. */
  readonly bytes: number;
}

const END = 0x06054b50;
const DIRECTORY = 0x02014b50;
const LOCAL = 0x04034b50;
const ENCRYPTED = 1;
const STORED = 0;
const DEFLATED = 8;
/** A signature may follow the archive. */
const LONGEST_TAIL = 1_000_000;

/** An archive that cannot be unpacked. */
export class ZipError extends Error {}

/** Lists the files of an untrusted archive. Throws a `ZipFault` unless all of it can be unpacked safely. */
export function listZip(bytes: Uint8Array, limits: ZipLimits): readonly ZippedFile[] {
  return checkBounds(() =>
    list(new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), bytes, limits),
  );
}

/** Translates reads outside of the archive, which any offset in it may cause. */
function checkBounds<T>(read: () => T): T {
  try {
    return read();
  } catch (thrown) {
    throw thrown instanceof RangeError ? new ZipError("it is damaged") : thrown;
  }
}

function list(view: DataView, bytes: Uint8Array, limits: ZipLimits): readonly ZippedFile[] {
  const end = findEnd(view);
  const count = view.getUint16(end + 10, true);
  let at = view.getUint32(end + 16, true);
  if (count > limits.files) throw new ZipError("it holds too many files");
  const files: ZippedFile[] = [];
  const seen = new Set<string>();
  let total = 0;
  for (let index = 0; index < count; index++) {
    if (view.getUint32(at, true) !== DIRECTORY) throw new ZipError("it is damaged");
    const flags = view.getUint16(at + 8, true);
    const method = view.getUint16(at + 10, true);
    const packed = view.getUint32(at + 20, true);
    const size = view.getUint32(at + 24, true);
    const nameLength = view.getUint16(at + 28, true);
    const mode = view.getUint32(at + 38, true) >>> 16;
    const local = view.getUint32(at + 42, true);
    const path = new TextDecoder().decode(bytes.subarray(at + 46, at + 46 + nameLength));
    at += 46 + nameLength + view.getUint16(at + 30, true) + view.getUint16(at + 32, true);
    if (path.endsWith("/")) continue;
    total += size;
    if (total > limits.bytes) throw new ZipError("it is too large once unpacked");
    if (flags & ENCRYPTED || (method !== STORED && method !== DEFLATED))
      throw new ZipError("it is packed in a way that is not known here");
    const kind = mode & 0o170000;
    if (kind !== 0 && kind !== 0o100000) throw new ZipError("it holds a link or a device");
    if (!isInside(path)) throw new ZipError("one of its files would lie outside of its folder");
    // Some file systems ignore the case of names.
    const folded = path.toLowerCase().normalize("NFC");
    if (seen.has(folded)) throw new ZipError("two of its files have the same name");
    seen.add(folded);
    files.push({
      path,
      isExecutable: (mode & 0o111) !== 0,
      read: () => checkBounds(() => unpack(view, bytes, { local, packed, size, method })),
    });
  }
  return files;
}

function findEnd(view: DataView): number {
  const first = Math.max(0, view.byteLength - LONGEST_TAIL);
  for (let at = view.byteLength - 22; at >= first; at--) if (view.getUint32(at, true) === END) return at;
  throw new ZipError("it is no archive");
}

function isInside(path: string): boolean {
  if (path === "" || path.length > 400 || /[\\:\p{Cc}]/u.test(path) || path.startsWith("/")) return false;
  return path.split("/").every((part) => part !== "" && part !== "." && part !== "..");
}

function unpack(
  view: DataView,
  bytes: Uint8Array,
  { local, packed, size, method }: { local: number; packed: number; size: number; method: number },
): Uint8Array {
  if (view.getUint32(local, true) !== LOCAL) throw new ZipError("it is damaged");
  const start = local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true);
  const content = bytes.subarray(start, start + packed);
  if (content.length !== packed) throw new ZipError("it is damaged");
  try {
    const found =
      method === STORED ? content : inflateRawSync(content, { maxOutputLength: Math.max(1, size) });
    if (found.length === size) return found;
  } catch {}
  throw new ZipError("it is damaged");
}
