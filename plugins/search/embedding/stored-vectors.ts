import { isJsonObject, type JsonObject, type Tool } from "../../../core/mod.ts";
import type { Embedder, VectorStorage } from "../../../core/services/search.ts";
import { sha256Hex } from "../../lib/hash.ts";
import { digestTools, readBlocks, writeBlocks } from "../index-snapshot.ts";
import type { PackedVector } from "./int8-vectors.ts";

/** Cached vectors of an embedder that costs time or money, by text and model. */
interface VectorCache {
  /** Returns the cached vectors of tools of a server. */
  load(server: string, tools: readonly Tool[]): Promise<ReadonlyMap<Tool, PackedVector>>;
  /** Writes the vectors of the tools a server has now: new ones, and those that were cached before. */
  save(server: string, tools: readonly Tool[], vectors: ReadonlyMap<Tool, PackedVector>): Promise<void>;
}

/** A tool that is not loaded in all this time is embedded again. */
const TTL_MS = 90 * 24 * 3600 * 1000;
const SCALE_BYTES = 4;

/** Caches vectors, those of one server under one key: a file for each tool would take longer to read. */
export function createVectorCache(cache: VectorStorage, embedder: Embedder): VectorCache {
  const model = shortHash(embedder.hash).slice(0, 16);
  const toKey = (server: string): string => `vectors_${model}_${server}`;
  const hashText = (tool: Tool): string => shortHash(embedder.textOf?.(tool) ?? serializeTool(tool));
  const read = async (server: string): Promise<JsonObject> => {
    const cached = await cache.get(toKey(server));
    return isJsonObject(cached) ? cached : {};
  };
  return {
    async load(server, tools) {
      const cached = await read(server);
      const found = new Map<Tool, PackedVector>();
      for (const tool of tools) {
        const vector = decode(cached[hashText(tool)], embedder.dimensions);
        if (vector) found.set(tool, vector);
      }
      return found;
    },
    async save(server, tools, vectors) {
      const cached = await read(server);
      const next: Record<string, unknown> = {};
      for (const tool of tools) {
        const hash = hashText(tool);
        const vector = vectors.get(tool);
        if (vector || Object.hasOwn(cached, hash)) next[hash] = vector ? encode(vector) : cached[hash];
      }
      await cache.set(toKey(server), next, TTL_MS);
    },
  };
}

/** Everything an unknown embedder might read. */
function serializeTool({ server, name, title, description, inputSchema, tags }: Tool): string {
  return JSON.stringify([server, name, title, description, inputSchema, tags]);
}

function encode({ scale, bytes }: PackedVector): string {
  const buffer = Buffer.alloc(SCALE_BYTES + bytes.length);
  buffer.writeFloatLE(scale, 0);
  buffer.set(new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length), SCALE_BYTES);
  return buffer.toString("base64");
}

function decode(text: unknown, dimensions: number | undefined): PackedVector | undefined {
  const buffer = Buffer.from(typeof text === "string" ? text : "", "base64");
  const length = buffer.length - SCALE_BYTES;
  if (length < 1 || (dimensions !== undefined && length !== dimensions)) return undefined;
  const scale = buffer.readFloatLE(0);
  return scale > 0 && scale <= 1
    ? { scale, bytes: Int8Array.from(buffer.subarray(SCALE_BYTES), (byte) => (byte << 24) >> 24) }
    : undefined;
}

function shortHash(text: string): string {
  return sha256Hex(text).slice(0, 32);
}

/** Must change with what an embedder reads of a tool, and with the format. */
const MARK = "toolpipe-vectors-1";

/** Vectors of a snapshot. */
export interface VectorSnapshot {
  /** Returns the vectors of a server's tools in their order, if tools and embedder are unchanged; only once. */
  take(
    server: string,
    tools: readonly Tool[],
    embedder: string,
  ): { readonly scales: Float32Array; readonly bytes: Int8Array } | undefined;
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
