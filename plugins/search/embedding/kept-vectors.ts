import type { Tool } from "../../../core/mod.ts";
import { readBlocks, writeBlocks } from "../keeping/blocks.ts";
import { digestOf } from "../keeping/digest.ts";
import type { Packed } from "./_bytes.ts";

/** Whoever changes what an embedder reads of a tool, or what is written, must change this. */
const MARK = "toolpipe-vectors-1";

/** Vectors that were made once. */
export interface KeptVectors {
  /** The vectors of a server's tools in their order, if tools and embedder are still the same. Once. */
  take(server: string, tools: readonly Tool[], embedder: string): TakenVectors | undefined;
}

/** The vectors of some tools, one after another. */
export interface TakenVectors {
  readonly scales: Float32Array;
  readonly bytes: Int8Array;
}

interface Header {
  readonly embedder: string;
  readonly dimensions: number;
  readonly servers: readonly (readonly [server: string, digest: string, tools: number])[];
}

/** Writes the vectors of all tools; of those without a word that is known, zeros. */
export function writeVectors(
  embedder: string,
  dimensions: number,
  lists: ReadonlyMap<string, readonly Tool[]>,
  vectorOf: (tool: Tool) => Packed | undefined,
): Uint8Array {
  const kept = [...lists].flatMap(([server, tools]) => {
    const digest = digestOf(tools);
    return digest === undefined ? [] : [{ server, tools, digest }];
  });
  const count = kept.reduce((sum, { tools }) => sum + tools.length, 0);
  const scales = new Float32Array(count);
  const bytes = new Int8Array(count * dimensions);
  let at = 0;
  for (const { tools } of kept) {
    for (const tool of tools) {
      const vector = vectorOf(tool);
      if (vector) {
        scales[at] = vector.scale;
        bytes.set(vector.bytes, at * dimensions);
      }
      at++;
    }
  }
  const servers = kept.map(({ server, digest, tools }) => [server, digest, tools.length] as const);
  return writeBlocks(MARK, { embedder, dimensions, servers } satisfies Header, [[scales], [bytes]]);
}

/** Reads what was written; nothing if it is of another version. */
export function readVectors(given: Uint8Array): KeptVectors | undefined {
  const read = readBlocks(MARK, given);
  const [scaleBlock, byteBlock] = read?.blocks ?? [];
  if (!read || !scaleBlock || !byteBlock) return;
  const { embedder, dimensions, servers } = read.header as Header;
  const scales = new Float32Array(scaleBlock.buffer, scaleBlock.byteOffset, scaleBlock.length / 4);
  const bytes = new Int8Array(byteBlock.buffer, byteBlock.byteOffset, byteBlock.length);
  const known = new Map<string, { digest: string; first: number; count: number }>();
  let first = 0;
  for (const [server, digest, count] of servers) {
    known.set(server, { digest, first, count });
    first += count;
  }
  return {
    take(server, tools, madeBy) {
      const found = known.get(server);
      known.delete(server);
      if (!found || madeBy !== embedder || found.digest !== digestOf(tools)) return;
      if (found.count !== tools.length) return;
      const end = found.first + found.count;
      return {
        scales: scales.subarray(found.first, end),
        bytes: bytes.subarray(found.first * dimensions, end * dimensions),
      };
    },
  };
}
