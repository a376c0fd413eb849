import * as v from "valibot";
import type { Embedder, Ranker } from "../../core/services/search.ts";
import { driverChoice } from "../lib/driver-choice.ts";
import { option, wholeNumber } from "../lib/options.ts";

/** Names of the built-in rankers; the first is the default. */
export const rankerNames = ["fusion", "embedding", "keyword", "tag", "simple"] as const;

/** Name of a built-in ranker. */
export type RankerName = (typeof rankerNames)[number];

/** Creates the schema of a number from 0 to `most` with a default. */
const limited = (most: number, fallback: number, description: string) =>
  option(v.pipe(v.number(), v.minValue(0), v.maxValue(most)), description, fallback);
const weight = (fallback: number, description: string) => limited(1000, fallback, description);
const penalty = (fallback: number, description: string) => limited(1, fallback, description);

/** Options of keyword search with their defaults. */
export const keywordOptions = v.strictObject({
  weights: option(
    // In the order of the numbers of fields in the index.
    v.strictObject({
      name: weight(3, "Weight of the tool's name."),
      server: weight(1.5, "Weight of the server's name."),
      title: weight(1, "Weight of the title."),
      summary: weight(2, "Weight of the first sentence of the description."),
      description: weight(1, "Weight of the rest of the description."),
      parameters: weight(0.4, "Weight of the names of parameters."),
      parameterDescriptions: weight(0.3, "Weight of the descriptions of parameters."),
      tags: weight(0.5, "Weight of the tags."),
    }),
    "Weight of a word by the field of the tool that it is found in.",
    {},
  ),
  lengths: option(
    v.strictObject({
      name: penalty(0.3, "Penalty of a long name."),
      server: penalty(0.3, "Penalty of a long server name."),
      title: penalty(0.3, "Penalty of a long title."),
      summary: penalty(0.3, "Penalty of a long first sentence."),
      description: penalty(0.6, "Penalty of a long description."),
      parameters: penalty(0.6, "Penalty of many parameters."),
      parameterDescriptions: penalty(0.6, "Penalty of long descriptions of parameters."),
      tags: penalty(0.3, "Penalty of many tags."),
    }),
    "Penalty of a field that is longer than average, from 0 (none) to 1 (full).",
    {},
  ),
  k1: weight(1.2, "Saturation: how slowly repetitions of a word lose weight."),
  nameCoverage: weight(0.5, "Bonus for a query that has the words of the tool's name."),
  queryCoverage: weight(0, "Bonus for a tool that has the words of the query."),
  serverCoverage: weight(0.2, "Bonus for a query that has the words of the server's name."),
  synonyms: penalty(0.4, "Weight of a synonym relative to the word itself, from 0 to 1."),
});

/** Options of keyword search. */
export type KeywordOptions = v.InferInput<typeof keywordOptions>;

/** All parameters of keyword search. */
export type KeywordParameters = v.InferOutput<typeof keywordOptions>;

/** Field of a tool that keyword search reads. */
export type KeywordField = keyof KeywordParameters["weights"];

/** Defaults of keyword search. */
export const keywordDefaults: KeywordParameters = v.parse(keywordOptions, {});

/** Fields of a tool that keyword search reads, in the order of their numbers in the index. */
export const keywordFields = Object.keys(keywordDefaults.weights) as readonly KeywordField[];

const share = (fallback: number, description: string) =>
  option(v.pipe(v.number(), v.minValue(0, "a number, 0 or more")), description, fallback);

/** Weights of the scorers of a fusion with their defaults. */
export const fusionWeights = v.strictObject({
  keyword: share(0.45, "Weight of common words."),
  embedding: share(0.55, "Weight of similar meaning."),
  tag: share(0.1, "Weight of tags."),
});

/** Weight of each scorer of a fusion. */
export type FusionWeights = v.InferOutput<typeof fusionWeights>;

const fusionOptions = v.strictObject({
  weights: option(fusionWeights, "Weight of each scorer."),
  gate: option(
    v.pipe(v.number(), v.minValue(0, "0 or more"), v.maxValue(1, "1 or less")),
    "Least relevance of the best tool; below it nothing is found. 0 always finds a tool. The default is fitted to labelled queries.",
  ),
  clauses: option(
    v.boolean(),
    "Whether a query of several sentences is also searched sentence by sentence.",
    true,
  ),
});

/** Options of the ranker `fusion`. */
export type FusionOptions = v.InferInput<typeof fusionOptions>;

const text = v.pipe(v.string(), v.minLength(1, "a string that is not empty"));
const count = wholeNumber(1);
const prefix = (description: string) => option(v.string(), description, "");

/** Options of an endpoint with the embeddings API of OpenAI: OpenAI itself, Ollama, LM Studio, vLLM and others. */
export const openaiOptions = v.strictObject({
  type: v.pipe(v.literal("openai"), v.description("An endpoint with the embeddings API of OpenAI.")),
  url: option(
    v.pipe(v.string(), v.url("a URL"), v.regex(/^https?:/i, "a URL of http or https")),
    "Address of the API, with or without `/embeddings` at its end.",
    "https://api.openai.com/v1",
  ),
  model: v.pipe(text, v.description("Name of the model.")),
  apiKeyEnv: option(text, "Environment variable that holds the API key, if one is needed."),
  dimensions: option(count, "Length of the vectors, for models that offer a choice."),
  queryPrefix: prefix('Prefix that some models need before a query, such as "search_query: ".'),
  toolPrefix: prefix('Prefix that some models need before a tool, such as "search_document: ".'),
  timeoutMs: option(count, "Timeout of one request in milliseconds.", 30_000),
});

/** Options of a model that transformers.js runs, if the package `@huggingface/transformers` is installed. */
export const transformersOptions = v.strictObject({
  type: v.pipe(v.literal("transformers"), v.description("A model that transformers.js runs.")),
  model: v.pipe(text, v.description('Name of a sentence model, such as "Xenova/all-MiniLM-L6-v2".')),
  queryPrefix: prefix('Prefix that some models need before a query, such as "query: ".'),
  toolPrefix: prefix('Prefix that some models need before a tool, such as "passage: ".'),
});

/** Options of an embedder that is not built in: all but the type are its own. */
const otherEmbedder = v.looseObject({
  type: v.pipe(
    text,
    v.check((type) => type !== "openai" && type !== "transformers", "the name or path of an embedder"),
    v.description("Name of an embedder, or path of a module that exports one."),
  ),
});

const embedder = v.union(
  [
    v.literal("static"),
    openaiOptions,
    transformersOptions,
    v.pipe(text, v.regex(/[./]|^(?!openai$|transformers$)/, "an object with the type and the model")),
    otherEmbedder,
    v.custom<Embedder>((value) => typeof (value as Partial<Embedder> | null)?.embedTools === "function"),
  ],
  '"static", { type: "openai", model, ... }, { type: "transformers", model }, the name or path of an embedder, or an embedder',
);

const embeddingOptions = v.strictObject({
  embedder: option(
    embedder,
    "The embedder: `static` (built in, no network), an endpoint, a model of transformers.js, or another by name or path. Without it, `static`.",
  ),
});

/** Options of the search by meaning. */
export type EmbeddingOptions = v.InferInput<typeof embeddingOptions>;

/** Schema of {@link SearchOptions}. */
export const searchOptions = v.strictObject({
  ranker: option(
    v.union(
      [
        v.picklist(rankerNames),
        driverChoice,
        v.custom<Ranker>((value) => typeof (value as Partial<Ranker> | null)?.rank === "function"),
      ],
      `a ranker, the name of one (${rankerNames.join(", ")}), or the path of a module`,
    ),
    "The ranker: a built-in one by its name, or another by its name or the path of its module. Without it, `fusion`.",
  ),
  fusion: option(fusionOptions, "Options of the ranker `fusion`."),
  embedding: option(embeddingOptions, "Options of the search by meaning."),
  keyword: option(keywordOptions, "Options of keyword search."),
});

/** Options of the plugin `search`. */
export type SearchOptions = v.InferInput<typeof searchOptions>;
