import * as v from "valibot";
import { type KeywordField, keywordFields } from "./fields.ts";

/** How keyword search counts. What is left out is as in {@link keywordDefaults}. */
export interface KeywordOptions {
  /** How much a word counts by where it is found. */
  readonly weights?: Partial<Readonly<Record<KeywordField, number>>> | undefined;
  /** How much a field that is longer than others counts less: 0 not at all, 1 in full. */
  readonly lengths?: Partial<Readonly<Record<KeywordField, number>>> | undefined;
  /** How slowly more of the same word counts for less. */
  readonly k1?: number | undefined;
  /** How much it counts that the query has the words of the tool's name. */
  readonly nameCoverage?: number | undefined;
  /** How much it counts that the tool has the words of the query. */
  readonly queryCoverage?: number | undefined;
  /** How much it counts that the query has the words of the server's name. */
  readonly serverCoverage?: number | undefined;
  /** How much a synonym counts beside the word itself. */
  readonly synonyms?: number | undefined;
}

/** Every option of keyword search. */
export interface KeywordParameters {
  readonly weights: Readonly<Record<KeywordField, number>>;
  readonly lengths: Readonly<Record<KeywordField, number>>;
  readonly k1: number;
  readonly nameCoverage: number;
  readonly queryCoverage: number;
  readonly serverCoverage: number;
  readonly synonyms: number;
}

/** What keyword search does unless told otherwise. */
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

/** The options with everything that was left out. */
export function keywordParameters(options: KeywordOptions = {}): KeywordParameters {
  const filled = (field: "weights" | "lengths"): Record<KeywordField, number> =>
    Object.fromEntries(
      keywordFields.map((name) => [name, options[field]?.[name] ?? keywordDefaults[field][name]]),
    ) as Record<KeywordField, number>;
  return {
    weights: filled("weights"),
    lengths: filled("lengths"),
    k1: options.k1 ?? keywordDefaults.k1,
    nameCoverage: options.nameCoverage ?? keywordDefaults.nameCoverage,
    queryCoverage: options.queryCoverage ?? keywordDefaults.queryCoverage,
    serverCoverage: options.serverCoverage ?? keywordDefaults.serverCoverage,
    synonyms: options.synonyms ?? keywordDefaults.synonyms,
  };
}

const factor = v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(1000)));
const share = v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(1)));

/** Checks the options of keyword search. */
export const keywordOptions: v.GenericSchema<KeywordOptions, KeywordOptions> = v.strictObject({
  weights: v.optional(v.strictObject(Object.fromEntries(keywordFields.map((field) => [field, factor])))),
  lengths: v.optional(v.strictObject(Object.fromEntries(keywordFields.map((field) => [field, share])))),
  k1: factor,
  nameCoverage: factor,
  queryCoverage: factor,
  serverCoverage: factor,
  synonyms: share,
}) as v.GenericSchema<KeywordOptions, KeywordOptions>;
