import { createHash } from "node:crypto";
import type { Tool } from "../../../core/mod.ts";
import { textsOf } from "./fields.ts";
import { FIELDS, renumber, type Segment } from "./segment.ts";
import type { Terms } from "./terms.ts";

/**
 * What is written: a mark with the version, a hash of all that follows, the terms, and of each server the hash
 * of its texts and its numbers. Whoever changes how texts are read must change the mark.
 */
const MARK = "toolpipe-keyword-1\n";
const HASH_BYTES = 32;
const UNKNOWN = -1;

/** What an index once knew of servers. */
export interface Remembered {
  /** The tools of a server as they were read, if they are still the same. */
  segment(server: string, tools: readonly Tool[], terms: Terms): Segment | undefined;
}

interface Header {
  readonly terms: readonly string[];
  readonly servers: readonly {
    readonly server: string;
    readonly hash: string;
    readonly tools: number;
    readonly entries: number;
  }[];
}

/** Writes all that an index has read. */
export function writeSnapshot(segments: ReadonlyMap<string, Segment>, terms: Terms): Uint8Array {
  const header: Header = {
    terms: Array.from({ length: terms.size }, (_, term) => terms.text(term)),
    servers: [...segments].map(([server, { tools, entries }]) => ({
      server,
      hash: hashOf(tools),
      tools: tools.length,
      entries: entries.length,
    })),
  };
  const arrays = [...segments.values()].flatMap(({ starts, entries, lengths }) => [starts, entries, lengths]);
  const text = Buffer.from(JSON.stringify(header));
  const body = Buffer.concat([
    Buffer.from(new Uint32Array([text.length]).buffer),
    text,
    ...arrays.map(({ buffer, byteOffset, byteLength }) => Buffer.from(buffer, byteOffset, byteLength)),
  ]);
  return Buffer.concat([Buffer.from(MARK), createHash("sha256").update(body).digest(), body]);
}

/** Reads what was written; nothing if it is damaged or of another version. */
export function remember(bytes: Uint8Array): Remembered | undefined {
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const start = MARK.length + HASH_BYTES;
  const body = all.subarray(start);
  if (all.length < start + 4 || all.subarray(0, MARK.length).toString("latin1") !== MARK) return;
  if (!createHash("sha256").update(body).digest().equals(all.subarray(MARK.length, start))) return;
  // Whole as it is, this is what was written: nothing of it need be doubted.
  const textLength = body.readUInt32LE(0);
  const { terms, servers } = JSON.parse(body.subarray(4, 4 + textLength).toString("utf8")) as Header;
  let at = 4 + textLength;
  const take = (length: number): ArrayBuffer => {
    // Numbers must begin at an even place, so they are copied out.
    const part = new Uint8Array(length);
    part.set(body.subarray(at, at + length));
    at += length;
    return part.buffer;
  };
  const known = new Map(
    servers.map(({ server, hash, tools, entries }) => [
      server,
      {
        hash,
        starts: new Uint32Array(take(4 * (tools + 1))),
        entries: new Uint32Array(take(4 * entries)),
        lengths: new Uint16Array(take(2 * FIELDS * tools)),
      },
    ]),
  );
  let numbers = new Int32Array(0);
  let numbersIn: Terms | undefined;
  return {
    segment(server, tools, into) {
      const found = known.get(server);
      if (!found) return;
      // Once is enough: what was taken in is in the index, and what was not will not be again.
      known.delete(server);
      if (found.hash !== hashOf(tools)) return;
      const segment: Segment = { ...found, tools, first: 0 };
      if (numbersIn !== into) {
        numbersIn = into;
        numbers = new Int32Array(terms.length).fill(UNKNOWN);
      }
      renumber(segment, (term) => {
        if (numbers[term] === UNKNOWN) numbers[term] = into.addTerm(terms[term] as string);
        return numbers[term] as number;
      });
      return segment;
    },
  };
}

/** By all that is read of the tools, in their order. */
function hashOf(tools: readonly Tool[]): string {
  const hash = createHash("sha256");
  hash.update(tools.map((tool) => textsOf(tool).join("\0")).join("\u0001"));
  return hash.digest("base64");
}
