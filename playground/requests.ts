import * as v from "valibot";
import { GatewayError } from "../core/mod.ts";
import type { RankerInfo } from "./protocol.ts";

/** Columns that fit side by side. */
const MAX_COLUMNS = 4;
const MAX_QUERY = 100_000;

const upload = v.strictObject({
  name: v.pipe(v.string(), v.minLength(1), v.maxLength(200)),
  text: v.string(),
});

/** Creates functions that check the requests of the page. */
export function createRequestParsers(rankers: readonly RankerInfo[]) {
  const find = (name: string): RankerInfo | undefined => rankers.find((ranker) => ranker.name === name);
  const column = v.pipe(
    v.strictObject({
      ranker: v.pipe(
        v.string(),
        v.check((name) => find(name) !== undefined, "There is no such ranker."),
      ),
      settings: v.record(v.string(), v.pipe(v.number(), v.finite())),
    }),
    v.check(
      ({ ranker, settings }) =>
        Object.entries(settings).every(([path, value]) =>
          find(ranker)?.settings.some(
            (known) => known.path === path && value >= known.min && value <= known.max,
          ),
        ),
      "This ranker has no such setting, or not with such a value.",
    ),
  );
  const columns = v.pipe(
    v.array(column),
    v.maxLength(MAX_COLUMNS, `At most ${MAX_COLUMNS} rankers can be compared.`),
  );
  const rank = v.strictObject({
    catalog: v.string(),
    query: v.pipe(v.string(), v.maxLength(MAX_QUERY, "The query is too long.")),
    columns,
    limit: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(50))),
  });
  const evaluate = v.strictObject({
    catalog: v.string(),
    set: v.string(),
    columns: v.pipe(columns, v.minLength(1, "There is no ranker to evaluate.")),
  });
  const parser =
    <T>(schema: v.GenericSchema<unknown, T>) =>
    (body: unknown): T =>
      check(schema, body);
  return {
    rank: parser(rank),
    evaluate: parser(evaluate),
    upload: parser(upload),
    column: parser(column),
    catalog: parser(v.strictObject({ catalog: v.string() })),
    set: parser(v.strictObject({ set: v.string() })),
  };
}

function check<T>(schema: v.GenericSchema<unknown, T>, body: unknown): T {
  const parsed = v.safeParse(schema, body);
  if (parsed.success) return parsed.output;
  const issue = parsed.issues[0];
  const own = issue.message.endsWith(".") ? issue.message : "Load the page again.";
  const place = v.getDotPath(issue);
  throw new GatewayError(
    "INVALID_ARGUMENTS",
    `This request cannot be answered${place ? ` because of its "${place}"` : ""}. ${own}`,
  );
}
