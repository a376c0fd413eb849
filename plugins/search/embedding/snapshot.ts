import type { Tool } from "../../../core/mod.ts";
import { digestTools, readBlocks, writeBlocks } from "../index-snapshot/format.ts";
import type { PackedVector } from "./int8-vectors.ts";

/** Must change with what an embedder reads of a tool, and with the format. */
const MARK = "toolpipe-vectors-1";

/** Vectors of a snapshot. */
export interface VectorSnapshot {
  /** Returns the vectors of a server's tools in their order, if tools and embedder are unchanged; only once. */
  take(server: string, tools: readonly Tool[], embedder: string): ServerVectors | undefined;
}

/** Vectors of the tools of one server, one after another. */
export interface ServerVectors {
  readonly scales: Float32Array;
  readonly bytes: Int8Array;
}

interface Header {
  readonly embedder: string;
  readonly dimensions: number;
  readonly servers: readonly (readonly [server: string, digest: string, tools: number])[];
}

/** Writes the vectors of all tools; zeros for those without a known word. */
export function writeVectors(
  embedder: string,
  dimensions: number,
  lists: ReadonlyMap<string, readonly Tool[]>,
  vectorOf: (tool: Tool) => PackedVector | undefined,
): Uint8Array {
  const written = [...lists].flatMap(([server, tools]) => {
    const digest = digestTools(tools);
    return digest === undefined ? [] : [{ server, tools, digest }];
  });
  const count = written.reduce((sum, { tools }) => sum + tools.length, 0);
  const scales = new Float32Array(count);
  const bytes = new Int8Array(count * dimensions);
  let at = 0;
  for (const { tools } of written) {
    for (const tool of tools) {
      const vector = vectorOf(tool);
      if (vector) {
        scales[at] = vector.scale;
        bytes.set(vector.bytes, at * dimensions);
      }
      at++;
    }
  }
  const servers = written.map(({ server, digest, tools }) => [server, digest, tools.length] as const);
  return writeBlocks(MARK, { embedder, dimensions, servers } satisfies Header, [[scales], [bytes]]);
}

/** Reads a snapshot; undefined if it is of another version. */
export function readVectors(given: Uint8Array): VectorSnapshot | undefined {
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
      if (!found || madeBy !== embedder || found.digest !== digestTools(tools)) return;
      if (found.count !== tools.length) return;
      const end = found.first + found.count;
      return {
        scales: scales.subarray(found.first, end),
        bytes: bytes.subarray(found.first * dimensions, end * dimensions),
      };
    },
  };
}
