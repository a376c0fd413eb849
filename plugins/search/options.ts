import * as v from "valibot";
import type { Embedder, Ranker } from "../../core/services/search.ts";
import { type DriverOptions, driverChoice } from "../lib/driver-choice.ts";

/** Names of the built-in rankers; the first is the default. */
export const rankerNames = ["fusion", "embedding", "keyword", "tag", "simple"] as const;

/** Name of a built-in ranker. */
export type RankerName = (typeof rankerNames)[number];

/** Name of a built-in embedder. */
export type EmbedderName = "static" | "openai" | "transformers";

/** Fields of a tool that keyword search reads, in the order of their numbers in the index. */
export const keywordFields = [
  "name",
  "server",
  "title",
  "summary",
  "description",
  "parameters",
  "parameterDescriptions",
  "tags",
] as const;

/** Field of a tool that keyword search reads. */
export type KeywordField = (typeof keywordFields)[number];

/** All parameters of keyword search. */
export interface KeywordParameters {
  /** Weight of a word by the field it is found in. */
  readonly weights: Readonly<Record<KeywordField, number>>;
  /** Penalty of a field that is longer than average, from 0 (none) to 1 (full). */
  readonly lengths: Readonly<Record<KeywordField, number>>;
  /** Saturation: how slowly repetitions of a word lose weight. */
  readonly k1: number;
  /** Bonus for a query that has the words of the tool's name. */
  readonly nameCoverage: number;
  /** Bonus for a tool that has the words of the query. */
  readonly queryCoverage: number;
  /** Bonus for a query that has the words of the server's name. */
  readonly serverCoverage: number;
  /** Weight of a synonym relative to the word itself. */
  readonly synonyms: number;
}

/** Options of keyword search; the rest is as in {@link keywordDefaults}. */
export type KeywordOptions = {
  readonly [Name in Exclude<keyof KeywordParameters, "weights" | "lengths">]?: number | undefined;
} & {
  readonly [Name in "weights" | "lengths"]?: Partial<Readonly<Record<KeywordField, number>>> | undefined;
};

/** Defaults of keyword search. */
export const keywordDefaults: KeywordParameters = {
  weights: {
    name: 3,
    server: 1.5,
    title: 1,
    summary: 2,
    description: 1,
    parameters: 0.4,
    parameterDescriptions: 0.3,
    tags: 0.5,
  },
  lengths: {
    name: 0.3,
    server: 0.3,
    title: 0.3,
    summary: 0.3,
    description: 0.6,
    parameters: 0.6,
    parameterDescriptions: 0.6,
    tags: 0.3,
  },
  k1: 1.2,
  nameCoverage: 0.5,
  queryCoverage: 0,
  serverCoverage: 0.2,
  synonyms: 0.4,
};

/** Weight of each scorer of a fusion. */
export interface FusionWeights {
  readonly keyword: number;
  readonly embedding: number;
  readonly tag: number;
}

/** Options of the ranker `fusion`. */
export interface FusionOptions {
  /** Weight of each scorer; 0.45 for words, 0.55 for meaning and 0.1 for tags by default. */
  readonly weights?: { readonly [Name in keyof FusionWeights]?: number | undefined } | undefined;
  /** Least relevance of the best tool; below it nothing is found. 0 always finds something. */
  readonly gate?: number | undefined;
  /** Whether a query of several sentences is also searched sentence by sentence; true by default. */
  readonly clauses?: boolean | undefined;
}

/** Options of an endpoint with the embeddings API of OpenAI: OpenAI itself, Ollama, LM Studio, vLLM and others. */
export interface OpenaiEmbedderOptions {
  readonly type: "openai";
  /** Address of the API, with or without `/embeddings` at its end; OpenAI's by default. */
  readonly url?: string | undefined;
  readonly model: string;
  /** Environment variable that holds the key, where one is needed. */
  readonly apiKeyEnv?: string | undefined;
  /** Length of the vectors, for models that offer a choice. */
  readonly dimensions?: number | undefined;
  /** Prefix that some models want before a query, such as "search_query: ". */
  readonly queryPrefix?: string | undefined;
  /** Prefix that some models want before a searched text, such as "search_document: ". */
  readonly toolPrefix?: string | undefined;
  /** Timeout of one request in milliseconds; 30 seconds by default. */
  readonly timeoutMs?: number | undefined;
}

/** Options of a model that transformers.js runs, where the package `@huggingface/transformers` is installed. */
export interface TransformersEmbedderOptions {
  readonly type: "transformers";
  /** Name of a sentence model, such as "Xenova/all-MiniLM-L6-v2". */
  readonly model: string;
  /** Prefix that some models want before a query, such as "query: ". */
  readonly queryPrefix?: string | undefined;
  /** Prefix that some models want before a searched text, such as "passage: ". */
  readonly toolPrefix?: string | undefined;
}

/** An embedder: a built-in one, an endpoint, transformers.js, another by name or path, or an object. */
export type EmbedderChoice =
  | string
  | OpenaiEmbedderOptions
  | TransformersEmbedderOptions
  | DriverOptions
  | Embedder;

/** Options of the search by meaning. */
export interface EmbeddingOptions {
  /** `static` by default. */
  readonly embedder?: EmbedderChoice | undefined;
}

/** Options of the plugin `search`. */
export interface SearchOptions {
  /** A ranker, the name of one, or the path of a module that exports one; `fusion` by default. */
  readonly ranker?: RankerName | (string & {}) | DriverOptions | Ranker | undefined;
  readonly fusion?: FusionOptions | undefined;
  readonly embedding?: EmbeddingOptions | undefined;
  readonly keyword?: KeywordOptions | undefined;
}

const factor = v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(1000)));
const fraction = v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(1)));
const weight = v.optional(v.pipe(v.number(), v.minValue(0, "a number, 0 or more")));
const text = v.pipe(v.string(), v.minLength(1, "a text that is not empty"));
const count = v.pipe(v.number(), v.integer(), v.minValue(1, "a whole number above 0"));

/** An embedder that is not built in: its options are its own. */
const otherEmbedder = v.looseObject({
  type: v.pipe(
    text,
    v.check((type) => type !== "openai" && type !== "transformers", "the name or path of an embedder"),
  ),
});

const embedder = v.union(
  [
    v.literal("static"),
    v.strictObject({
      type: v.literal("openai"),
      url: v.optional(v.pipe(v.string(), v.url("a URL"), v.regex(/^https?:/i, "a URL of http or https"))),
      model: text,
      apiKeyEnv: v.optional(text),
      dimensions: v.optional(count),
      queryPrefix: v.optional(v.string()),
      toolPrefix: v.optional(v.string()),
      timeoutMs: v.optional(count),
    }),
    v.strictObject({
      type: v.literal("transformers"),
      model: text,
      queryPrefix: v.optional(v.string()),
      toolPrefix: v.optional(v.string()),
    }),
    v.pipe(text, v.regex(/[./]|^(?!openai$|transformers$)/, "an object with the type and the model")),
    otherEmbedder,
    v.custom<Embedder>((value) => typeof (value as Partial<Embedder> | null)?.embedTools === "function"),
  ],
  '"static", { type: "openai", model, ... }, { type: "transformers", model }, the name or path of an embedder, or an embedder',
);

/** Schema of {@link SearchOptions}. */
export const searchOptions: v.GenericSchema<SearchOptions, SearchOptions> = v.strictObject({
  ranker: v.optional(
    v.union(
      [
        v.picklist(rankerNames),
        driverChoice,
        v.custom<Ranker>((value) => typeof (value as Partial<Ranker> | null)?.rank === "function"),
      ],
      `a ranker, the name of one (${rankerNames.join(", ")}), or the path of a module`,
    ),
  ),
  fusion: v.optional(
    v.strictObject({
      weights: v.optional(v.strictObject({ keyword: weight, embedding: weight, tag: weight })),
      gate: v.optional(v.pipe(v.number(), v.minValue(0, "0 or more"), v.maxValue(1, "1 or less"))),
      clauses: v.optional(v.boolean()),
    }),
  ),
  embedding: v.optional(v.strictObject({ embedder: v.optional(embedder) })),
  keyword: v.optional(
    v.strictObject({
      weights: v.optional(v.strictObject(Object.fromEntries(keywordFields.map((field) => [field, factor])))),
      lengths: v.optional(
        v.strictObject(Object.fromEntries(keywordFields.map((field) => [field, fraction]))),
      ),
      k1: factor,
      nameCoverage: factor,
      queryCoverage: factor,
      serverCoverage: factor,
      synonyms: fraction,
    }),
  ),
}) as v.GenericSchema<SearchOptions, SearchOptions>;
