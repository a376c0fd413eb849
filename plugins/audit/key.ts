import { createHmac, randomBytes } from "node:crypto";
import {
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { canonicalJson } from "../guard/canonical.ts";

const PATTERN = /^[0-9a-f]{64}\n?$/;

/**
 * The key of this installation, from a file that is made when there is none and that nobody else can read. Without
 * waiting, so that the first records keep their order; it happens once. Of several processes that make it at once, the
 * first has made it for all of them.
 */
export function installationKey(file: string): Buffer {
  return read(file) ?? make(file);
}

/** The code of arguments under a key. */
export function paramsHash(key: Buffer, args: unknown): string {
  return createHmac("sha256", key).update(canonicalJson(args)).digest("hex");
}

function read(file: string): Buffer | undefined {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw thrown;
  }
  if (!PATTERN.test(text)) throw new SyntaxError("The key of the audit is damaged.");
  return Buffer.from(text.trim(), "hex");
}

function make(file: string): Buffer {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const draft = `${file}.${randomBytes(8).toString("hex")}`;
  const text = `${randomBytes(32).toString("hex")}\n`;
  try {
    const handle = openSync(draft, "wx", 0o600);
    try {
      if (writeSync(handle, text) !== text.length) throw new Error("The disk is full.");
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
    // Takes nobody's place, unlike a rename: records may have been made with a key that came first.
    linkSync(draft, file);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== "EEXIST") throw thrown;
  } finally {
    rmSync(draft, { force: true });
  }
  const key = read(file);
  if (!key) throw new Error("The key of the audit is gone.");
  return key;
}
