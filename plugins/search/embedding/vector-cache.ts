import { createHash } from "node:crypto";
import { isJsonObject, type JsonObject, type Tool } from "../../../core/mod.ts";
import type { Embedder, VectorStorage } from "../../../core/services/search.ts";
import type { PackedVector } from "./int8-vectors.ts";

/** Cached vectors of an embedder that costs time or money, by text and model. */
export interface VectorCache {
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
  const model = sha256(embedder.hash).slice(0, 16);
  const keyOf = (server: string): string => `vectors_${model}_${server}`;
  const hashText = (tool: Tool): string => sha256(embedder.textOf?.(tool) ?? serializeTool(tool));
  const read = async (server: string): Promise<JsonObject> => {
    const cached = await cache.get(keyOf(server));
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
      await cache.set(keyOf(server), next, TTL_MS);
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

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}
