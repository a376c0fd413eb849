import * as v from "valibot";

/** The options of the plugin `results`. */
export interface ResultsOptions {
  /**
   * How many bytes of text an agent is shown at once; 50,000 by default. Hosts that limit what a tool may answer do so
   * at about 25,000 tokens, and even text that is hard on a tokenizer (digits, base64) has two bytes to a token.
   */
  readonly maxBytes?: number;
  /**
   * How many characters of images, audio and other base64 an agent is shown at once; 1,000,000 by default. A model does
   * not read them as text, so they have a budget of their own: it is the whole message that some hosts limit to 1 MB.
   */
  readonly maxMediaBytes?: number;
  /** How long what was not shown can be read, from the last reading on; an hour by default. */
  readonly keepMs?: number;
  /** How many bytes are kept at most; 50,000,000 by default. The oldest go first. */
  readonly maxKeptBytes?: number;
  /**
   * After this long a call is answered with where its result can be read once it is there; 50,000 by default, and 0
   * means never. Most clients give up after 60 seconds, and what they asked for would be lost. A call ends at its time
   * limit, 30 seconds by default: only one that was allowed more, or reports progress, comes this far.
   */
  readonly waitMs?: number;
  /** How many calls at once may go on after their callers were answered; 32 by default. Others are waited for. */
  readonly maxRunning?: number;
}

const LONGEST_MS = 2 ** 31 - 1;
// Written out only where it is wrong: the first number that is written so takes 10 ms, for Node loads what it knows of
// languages.
const whole = (least: number) =>
  v.pipe(
    v.number(),
    v.integer(),
    v.minValue(least, () => `a whole number, ${least.toLocaleString("en")} or more`),
  );
const time = (least: number) =>
  v.pipe(whole(least), v.maxValue(LONGEST_MS, "a number of milliseconds that a timer can hold"));

/** Checks the options and holds their defaults. */
export const resultsOptions: v.GenericSchema<ResultsOptions, Required<ResultsOptions>> = v.strictObject({
  maxBytes: v.optional(whole(4_000), 50_000),
  maxMediaBytes: v.optional(whole(0), 1_000_000),
  keepMs: v.optional(time(1), 3_600_000),
  maxKeptBytes: v.optional(whole(0), 50_000_000),
  waitMs: v.optional(time(0), 50_000),
  maxRunning: v.optional(whole(0), 32),
}) as v.GenericSchema<ResultsOptions, Required<ResultsOptions>>;
