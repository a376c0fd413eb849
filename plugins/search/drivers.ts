import { resolve } from "node:path";
import { loadDriver } from "../../core/load-module.ts";
import { defineError, type ErrorKind, type JsonObject } from "../../core/mod.ts";
import type { EmbedderDriver, Ranker, RankerDriver, RankerParts } from "../../core/services/search.ts";
import { checkDriver, checkDriverFields } from "../lib/driver-choice.ts";
import { type RankerName, rankerNames, type SearchOptions } from "./options.ts";

export const EMBEDDER_UNAVAILABLE: ErrorKind = defineError("EMBEDDER_UNAVAILABLE", {
  description: "An embedder does not work; search continues without vectors.",
});

/** Built-in embedders, each loaded when it is first used. */
export const embedderDrivers: Readonly<Record<string, EmbedderDriver>> = {
  static: async () => (await import("./embedding/static.ts")).staticEmbedder(),
  openai: async (options) => (await import("./embedding/openai.ts")).openaiEmbedder(options as never),
  transformers: async (options) =>
    (await import("./embedding/transformers.ts")).transformersEmbedder(options as never),
};

/** Built-in rankers, each loaded when it is first used. */
export const rankerDrivers: Readonly<Record<RankerName, RankerDriver>> = {
  async fusion(options, parts) {
    const { fusion, keyword } = options as SearchOptions;
    const { fusionRanker } = await import("./fusion/ranker.ts");
    return fusionRanker({ ...fusion, keyword, embedding: parts });
  },
  embedding: async (_, parts) => (await import("./embedding/ranker.ts")).embeddingRanker(parts),
  async keyword(options) {
    const { keyword } = options as SearchOptions;
    return (await import("./keyword/ranker.ts")).keywordRanker(keyword);
  },
  tag: async () => (await import("./tag.ts")).tagRanker(),
  simple: async () => (await import("./simple.ts")).simpleRanker(),
};

/**
 * Creates a ranker without a gateway: a built-in one by its name, or the one of a module by its path, relative to the
 * current folder.
 */
export async function createRanker(
  ranker: string,
  options: SearchOptions = {},
  parts: RankerParts = {},
): Promise<Ranker> {
  const builtin = rankerNames.find((name) => name === ranker);
  if (builtin) return rankerDrivers[builtin](options as JsonObject, parts);
  const driver = await loadDriver("ranker", ranker, resolve("toolpipe.config"));
  checkDriver("ranker", ranker, driver);
  const created = await (driver as RankerDriver)(options as JsonObject, parts);
  checkDriverFields("ranker", ranker, created, rankerFields);
  return created;
}

/** Fields that a ranker of a user's module must have. */
export const rankerFields = { name: "string", update: "function", rank: "function" } as const;
