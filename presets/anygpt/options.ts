import * as v from "valibot";

/** What `get_tool_details` tells of the parameters of a tool. */
export type DetailsStyle = "parameters" | "signature" | "schema";

/** The options of the plugin `answers`. */
export interface AnswersOptions {
  /** How parameters are shown: one by one, as one line of TypeScript, or as the JSON Schema itself. */
  readonly details?: DetailsStyle;
  /** What the details of a tool may take before descriptions are shortened; 105 by default. */
  readonly detailTokens?: number;
  /** What a search may take where it names no limit; 200 by default. */
  readonly searchTokens?: number;
  /** What a list of servers or tools may take before descriptions are shortened; 2,000 by default. */
  readonly listTokens?: number;
  /** How long a search waits for servers that are asked for their tools for the first time; 3,000 by default. */
  readonly waitMs?: number;
  /** Tools, as `server:tool`, that an agent sees beside the five without searching for them. */
  readonly pinned?: readonly string[];
  /** Whether answers are also structured content, with an output schema; many hosts would show a model both. */
  readonly structured?: boolean;
}

const tokens = v.pipe(v.number(), v.integer(), v.minValue(50, "a whole number, 50 or more"));

/** Checks the options and holds their defaults. */
export const answersOptions: v.GenericSchema<AnswersOptions, Required<AnswersOptions>> = v.strictObject({
  details: v.optional(v.picklist(["parameters", "signature", "schema"]), "parameters"),
  detailTokens: v.optional(tokens, 105),
  searchTokens: v.optional(tokens, 200),
  listTokens: v.optional(tokens, 2000),
  waitMs: v.optional(v.pipe(v.number(), v.minValue(0, "a number of milliseconds, 0 or more")), 3000),
  pinned: v.optional(v.array(v.pipe(v.string(), v.includes(":", "the id of a tool, as server:tool"))), []),
  structured: v.optional(v.boolean(), false),
}) as v.GenericSchema<AnswersOptions, Required<AnswersOptions>>;

/** What holds where the plugin is not there. */
export const defaultAnswers: Required<AnswersOptions> = v.parse(answersOptions, {});
