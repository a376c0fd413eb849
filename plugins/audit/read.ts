import { createReadStream } from "node:fs";
import { join } from "node:path";
import { isJsonObject, type JsonObject } from "../../core/mod.ts";
import { ifThere, namesIn } from "../lib/files.ts";

/** A line of a file of records. */
export interface AuditLine {
  /** Counted from 1. */
  readonly line: number;
  /** What it says; nothing where it is no JSON object. */
  readonly record: JsonObject | undefined;
  /** Whether it is ended: the last line of a process that was killed may not be. */
  readonly isWhole: boolean;
  /** Where in the file it ends. */
  readonly end: number;
}

/** The files of a folder that hold records, rotated ones included, the oldest first by their names. */
export async function auditFiles(folder: string): Promise<string[]> {
  const names = (await namesIn(folder)).filter(
    (name) => /\.jsonl([.-]|$)/.test(name) && !/\.(gz|zst|xz|bz2)$/.test(name),
  );
  return names.toSorted().map((name) => join(folder, name));
}

/** Reads a file of records line by line, from a place on; one that is not there has none. */
export async function* readAudit(file: string, from = 0): AsyncGenerator<AuditLine> {
  let line = 0;
  let end = from;
  let rest = Buffer.alloc(0);
  const stream = createReadStream(file, { start: from });
  const chunks = stream[Symbol.asyncIterator]();
  for (;;) {
    const next = await ifThere(chunks.next());
    if (!next || next.done) break;
    let bytes = Buffer.concat([rest, next.value as Buffer]);
    for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10)) {
      line++;
      end += at + 1;
      yield { line, record: parse(bytes.subarray(0, at)), isWhole: true, end };
      bytes = bytes.subarray(at + 1);
    }
    rest = Buffer.from(bytes);
  }
  if (rest.length > 0) yield { line: line + 1, record: parse(rest), isWhole: false, end: end + rest.length };
}

function parse(bytes: Buffer): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(bytes.toString());
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
