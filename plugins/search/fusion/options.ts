import * as v from "valibot";
import type { FusionWeights } from "./read.ts";
import { defaultGate } from "./weights.ts";

/** How words, meaning and tags are put together. What is left out is as in {@link fusionDefaults}. */
export interface FusionOptions {
  /** How much each voice counts. */
  readonly weights?: { readonly [Name in keyof FusionWeights]?: number | undefined } | undefined;
  /** Where the best tool is less relevant than this, nothing is found; 0 always finds something. */
  readonly gate?: number | undefined;
  /** Whether a query of several sentences is also looked up sentence by sentence. */
  readonly clauses?: boolean | undefined;
}

/** What a fusion does unless told otherwise. */
export const fusionDefaults: { readonly weights: FusionWeights; readonly gate: number } = {
  weights: { keyword: 0.45, embedding: 0.55, tag: 0.1 },
  gate: defaultGate,
};

const weight = v.optional(v.pipe(v.number(), v.minValue(0, "a number, 0 or more")));

/** Checks {@link FusionOptions}. */
export const fusionOptions: v.GenericSchema<FusionOptions> = v.strictObject({
  weights: v.optional(v.strictObject({ keyword: weight, embedding: weight, tag: weight })),
  gate: v.optional(v.pipe(v.number(), v.minValue(0, "0 or more"), v.maxValue(1, "1 or less"))),
  clauses: v.optional(v.boolean()),
});
