import type { Tool } from "../../../core/mod.ts";
import { digestTools, readBlocks, writeBlocks } from "../index-snapshot.ts";
import { FIELDS, type Postings, renumber, type Segment } from "./segment.ts";
import type { Terms } from "./terms.ts";

/** Must change with how texts are read, and with the format. */
const MARK = "toolpipe-keyword-2";
const UNKNOWN = -1;
/** Terms consist of letters, marks and digits. */
const SEPARATOR = " ";

/** Loaded snapshot of an index. */
export interface KeywordSnapshot {
  /** Postings by the numbers that the tools had, and keep when their segments are taken. */
  readonly postings: Postings;
  /** One more than the highest of these numbers. */
  readonly slots: number;
  /** Returns the segment of a server, if its tools are unchanged. */
  segment(server: string, tools: readonly Tool[], terms: Terms): Segment | undefined;
}

interface Header {
  readonly terms: string;
  readonly slots: number;
  readonly servers: readonly (readonly [
    server: string,
    digest: string,
    first: number,
    tools: number,
    entries: number,
  ])[];
}

/** Writes an index that is in order. */
export function writeSnapshot(
  segments: ReadonlyMap<string, Segment>,
  terms: Terms,
  postings: Postings,
): Uint8Array {
  const servers: Header["servers"][number][] = [];
  const written: Segment[] = [];
  for (const [server, segment] of segments) {
    const digest = digestTools(segment.tools);
    if (digest === undefined) continue;
    servers.push([server, digest, segment.first, segment.tools.length, segment.entries.length]);
    written.push(segment);
  }
  const texts = Array.from({ length: terms.size }, (_, term) => terms.text(term));
  const slots = [...segments.values()].reduce((sum, { tools }) => sum + tools.length, 0);
  return writeBlocks(MARK, { terms: texts.join(SEPARATOR), slots, servers } satisfies Header, [
    written.map(({ starts }) => starts),
    written.map(({ entries }) => entries),
    written.map(({ lengths }) => lengths),
    written.map(({ totals }) => totals),
    [postings.starts],
    [postings.entries],
  ]);
}

/** Reads a snapshot for an index with these terms; undefined if it is of another version. */
export function readSnapshot(bytes: Uint8Array, into: Terms): KeywordSnapshot | undefined {
  const read = readBlocks(MARK, bytes);
  if (!read) return;
  const header = read.header as Header;
  const texts = header.terms === "" ? [] : header.terms.split(SEPARATOR);
  const known = readSegments(header, read.blocks);
  const [starts, entries] = read.blocks.slice(4).map(toNumbers);
  if (!starts || !entries || !isRising(starts, entries.length)) return;
  // An empty dictionary takes all terms under the numbers they have, and no entry need change.
  const isAdopted = into.size === 0;
  if (isAdopted) for (const text of texts) into.addTerm(text);
  let numberedFor = isAdopted ? into : undefined;
  let numbers: Int32Array | undefined;
  return {
    postings: { starts, entries },
    slots: header.slots,
    segment(server, tools, terms) {
      const found = known.get(server);
      if (!found) return;
      // Once is enough: a taken segment is in the index, and a changed one will not be used later.
      known.delete(server);
      if (found.digest !== digestTools(tools) || found.lengths.length !== tools.length * FIELDS) return;
      if (!isRising(found.starts, found.entries.length)) return;
      if (numberedFor !== terms) {
        numberedFor = terms;
        numbers = new Int32Array(texts.length).fill(UNKNOWN);
      }
      const { digest: _digest, ...numbered } = found;
      const segment: Segment = { ...numbered, tools };
      const mapped = numbers;
      if (mapped)
        renumber(segment, (term) => {
          if (mapped[term] === UNKNOWN) mapped[term] = terms.addTerm(texts[term] as string);
          return mapped[term] as number;
        });
      return segment;
    },
  };
}

interface StoredSegment extends Omit<Segment, "tools"> {
  readonly digest: string;
}

/** Whether starts rise up to the number of entries: others could make a search run for hours. */
function isRising(starts: Uint32Array, end: number): boolean {
  return starts.every((start, at) => start <= end && start >= (starts[at - 1] ?? 0));
}

function toNumbers({ buffer, byteOffset, byteLength }: Uint8Array<ArrayBuffer>): Uint32Array {
  return new Uint32Array(buffer, byteOffset, byteLength / 4);
}

/** Segments of each server as views of the blocks. */
function readSegments(
  { servers }: Header,
  blocks: readonly Uint8Array<ArrayBuffer>[],
): Map<string, StoredSegment> {
  const [starts, entries, lengths, totals] = blocks.map(({ buffer, byteOffset }) => ({
    buffer,
    at: byteOffset,
  }));
  const known = new Map<string, StoredSegment>();
  if (!starts || !entries || !lengths || !totals) return known;
  for (const [server, digest, first, toolCount, entryCount] of servers) {
    known.set(server, {
      digest,
      first,
      starts: new Uint32Array(starts.buffer, starts.at, toolCount + 1),
      entries: new Uint32Array(entries.buffer, entries.at, entryCount),
      lengths: new Uint16Array(lengths.buffer, lengths.at, toolCount * FIELDS),
      totals: new Uint32Array(totals.buffer, totals.at, 2 * FIELDS),
    });
    starts.at += 4 * (toolCount + 1);
    entries.at += 4 * entryCount;
    lengths.at += 2 * FIELDS * toolCount;
    totals.at += 4 * 2 * FIELDS;
  }
  return known;
}
