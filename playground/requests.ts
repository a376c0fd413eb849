import * as v from "valibot";
import { GatewayError } from "../core/mod.ts";
import type { Column, EvaluateRequest, RankerInfo, RankRequest, Upload } from "./protocol.ts";

/** More do not fit side by side. */
const MAX_COLUMNS = 4;
const MAX_QUERY = 100_000;

/** Requests of the page, each with its check. */
export interface Requests {
  rank(body: unknown): RankRequest;
  evaluate(body: unknown): EvaluateRequest;
  upload(body: unknown): Upload;
  column(body: unknown): Column;
  catalog(body: unknown): { readonly catalog: string };
  set(body: unknown): { readonly set: string };
}

const upload = v.strictObject({
  name: v.pipe(v.string(), v.minLength(1), v.maxLength(200)),
  text: v.string(),
});

/** Creates the checks for a playground with these rankers. */
export function createRequests(rankers: readonly RankerInfo[]): Requests {
  const find = (name: string): RankerInfo | undefined => rankers.find((ranker) => ranker.name === name);
  const column = v.pipe(
    v.strictObject({
      ranker: v.pipe(
        v.string(),
        v.check((name) => find(name) !== undefined, "This ranker is not there."),
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
  return {
    rank: (body) => check(rank, body) as RankRequest,
    evaluate: (body) => check(evaluate, body),
    upload: (body) => check(upload, body),
    column: (body) => check(column, body),
    catalog: (body) => check(v.strictObject({ catalog: v.string() }), body),
    set: (body) => check(v.strictObject({ set: v.string() }), body),
  };
}

function check<T>(schema: v.GenericSchema<unknown, T>, body: unknown): T {
  const parsed = v.safeParse(schema, body);
  if (parsed.success) return parsed.output;
  const issue = parsed.issues[0];
  const own = issue.message.endsWith(".") ? issue.message : "It is not what the page sends.";
  const place = v.getDotPath(issue);
  throw new GatewayError(
    "INVALID_ARGUMENTS",
    `This request cannot be answered${place ? ` because of its "${place}"` : ""}. ${own}`,
  );
}
