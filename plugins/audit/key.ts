import * as crypto from "node:crypto";
import { closeSync, fsyncSync, linkSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { makeFoldersSync } from "../lib/files.ts";

/** Bytes of a block of SHA-256. */
const BLOCK = 64;
/** Bytes of its hash. */
const HASH = 32;
/** Bytes that nearly all arguments fit in. */
const SHORT = 4_096;
const PATTERN = /^[0-9a-f]{64}\n?$/;

/**
 * Reads the key of this installation, and creates it if there is none, in a file that only its user can read.
 * Synchronously, so that the first records keep their order; it happens once. If several processes create it at once,
 * all use the first one.
 */
export function installationKey(file: string): Buffer {
  return readKeyFile(file) ?? createKeyFile(file);
}

/** Creates a function that hashes the canonical JSON of arguments under a key (HMAC). */
export function createHasher(key: Buffer): (json: string) => string {
  if (typeof crypto.hash !== "function") {
    return (json) => crypto.createHmac("sha256", key).update(json).digest("hex");
  }
  // An HMAC is two hashes. One call each, in memory allocated once, takes a twentieth of the time on Node 24.
  const inner = padKey(key, 0x36, SHORT);
  const outer = padKey(key, 0x5c, HASH);
  return (json) => {
    // No character of JavaScript takes more than three bytes.
    const bytes =
      json.length * 3 <= SHORT
        ? inner.subarray(0, BLOCK + inner.write(json, BLOCK))
        : Buffer.concat([inner.subarray(0, BLOCK), Buffer.from(json)]);
    outer.write(crypto.hash("sha256", bytes, "hex"), BLOCK, "hex");
    return crypto.hash("sha256", outer, "hex");
  };
}

/** Creates the padded key that HMAC begins a hash with, followed by room for so many bytes. */
function padKey(key: Buffer, pad: number, room: number): Buffer {
  const short = key.length > BLOCK ? crypto.createHash("sha256").update(key).digest() : key;
  const bytes = Buffer.alloc(BLOCK + room, pad);
  for (const [index, byte] of short.entries()) bytes[index] = byte ^ pad;
  return bytes;
}

/** Reads the key of an installation; undefined if there is none. */
export function readKeyFile(file: string): Buffer | undefined {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw thrown;
  }
  if (!PATTERN.test(text))
    throw new SyntaxError(
      `${file}: the audit key is damaged: expected 64 hexadecimal digits. Restore it from a backup. If you delete it, a new key is created, and records under this one can no longer be verified.`,
    );
  return Buffer.from(text.trim(), "hex");
}

function createKeyFile(file: string): Buffer {
  makeFoldersSync(dirname(file));
  const draft = `${file}.${crypto.randomBytes(8).toString("hex")}`;
  const text = `${crypto.randomBytes(32).toString("hex")}\n`;
  try {
    const handle = openSync(draft, "wx", 0o600);
    try {
      if (writeSync(handle, text) !== text.length) throw new Error(`${file}: the disk is full.`);
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
    // Unlike a rename, a link replaces no key of another process, which may have hashed records with it.
    linkSync(draft, file);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== "EEXIST") throw thrown;
  } finally {
    rmSync(draft, { force: true });
  }
  const key = readKeyFile(file);
  if (!key) throw new Error(`${file}: the audit key was deleted while it was created.`);
  return key;
}
