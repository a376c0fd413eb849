import * as v from "valibot";
import { LONGEST_TIMER_MS } from "../../core/hooks.ts";
import type { Gateway } from "../../core/mod.ts";

type Described<S extends v.GenericSchema> = v.SchemaWithPipe<
  readonly [S, v.DescriptionAction<v.InferOutput<S>, string>]
>;

/** Creates the schema of an option with a description, and with a default if there is one. */
export function option<const S extends v.GenericSchema, const D extends v.Default<S, undefined> = undefined>(
  schema: S,
  description: string,
  fallback?: D,
): v.OptionalSchema<Described<S>, D> {
  return v.optional(v.pipe(schema, v.description(description)), fallback as never) as never;
}

/** Schema of a switch: nothing but `true` and `false`, since a config that says "false" must not mean true. */
export const trueOrFalse: v.BooleanSchema<string> = v.boolean("true or false");

/** Creates the schema of a whole number. */
export function wholeNumber(least: number) {
  // Formatted only if a value is wrong: the first number that is formatted takes 10 ms, because Node loads its data of
  // languages then.
  const message = (): string => `a whole number, ${least.toLocaleString("en")} or more`;
  return v.pipe(v.number(), v.integer(), v.minValue(least, message));
}

/** Creates the schema of a time in milliseconds. */
export function milliseconds(least: number) {
  return v.pipe(
    v.number(),
    v.minValue(least, `a number of milliseconds, ${least} or more`),
    v.maxValue(LONGEST_TIMER_MS, "a number of milliseconds that a timer can hold"),
  );
}

/** Names an option by its path in the config file of a gateway: in its section, if the config is one. */
export function nameOption({ configSection }: Pick<Gateway, "configSection">, path: string): string {
  return configSection === undefined ? path : `${configSection}.${path}`;
}
