import { createHash } from "node:crypto";
import { isJsonObject, type JsonObject, type Tool } from "../../../core/mod.ts";
import type { Cache } from "../../cache/mod.ts";
import type { Packed } from "./_bytes.ts";
import type { Embedder } from "./embedder.ts";

/** Vectors that were paid for once, by the text they stand for and the model that made them. */
export interface VectorCache {
  /** What is kept for tools of a server. */
  load(server: string, tools: readonly Tool[]): Promise<ReadonlyMap<Tool, Packed>>;
  /** Keeps the vectors of the tools a server has now: new ones, and those that were kept before. */
  save(server: string, tools: readonly Tool[], vectors: ReadonlyMap<Tool, Packed>): Promise<void>;
}

/** A tool that is not asked for in all this time is embedded again. */
const KEEP_MS = 90 * 24 * 3600 * 1000;
const SCALE_BYTES = 4;

/** Keeps vectors in a cache, those of one server under one key: a file for each tool would take longer to read. */
export function vectorCache(cache: Cache, embedder: Embedder): VectorCache {
  const model = sha256(embedder.hash).slice(0, 16);
  const keyOf = (server: string): string => `vectors_${model}_${server}`;
  const textHash = (tool: Tool): string => sha256(embedder.textOf?.(tool) ?? definitionOf(tool));
  const read = async (server: string): Promise<JsonObject> => {
    const kept = await cache.get(keyOf(server));
    return isJsonObject(kept) ? kept : {};
  };
  return {
    async load(server, tools) {
      const kept = await read(server);
      const found = new Map<Tool, Packed>();
      for (const tool of tools) {
        const vector = decoded(kept[textHash(tool)], embedder.dimensions);
        if (vector) found.set(tool, vector);
      }
      return found;
    },
    async save(server, tools, vectors) {
      const kept = await read(server);
      const next: Record<string, unknown> = {};
      for (const tool of tools) {
        const hash = textHash(tool);
        const vector = vectors.get(tool);
        if (vector || Object.hasOwn(kept, hash)) next[hash] = vector ? encoded(vector) : kept[hash];
      }
      await cache.set(keyOf(server), next, KEEP_MS);
    },
  };
}

/** Everything an unknown embedder might read. */
function definitionOf({ server, name, title, description, inputSchema, tags }: Tool): string {
  return JSON.stringify([server, name, title, description, inputSchema, tags]);
}

function encoded({ scale, bytes }: Packed): string {
  const buffer = Buffer.alloc(SCALE_BYTES + bytes.length);
  buffer.writeFloatLE(scale, 0);
  buffer.set(new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length), SCALE_BYTES);
  return buffer.toString("base64");
}

function decoded(text: unknown, dimensions: number | undefined): Packed | undefined {
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
