import * as v from "valibot";
import { GatewayError } from "../core/mod.ts";
import type { Column, EvaluateRequest, RankRequest, Upload } from "./protocol.ts";
import { rankerInfo } from "./rankers.ts";

/** More do not fit side by side. */
const MAX_COLUMNS = 4;
const MAX_QUERY = 100_000;

const column = v.pipe(
  v.strictObject({
    ranker: v.pipe(
      v.string(),
      v.check((name) => rankerInfo(name) !== undefined, "This ranker is not there."),
    ),
    settings: v.record(v.string(), v.pipe(v.number(), v.finite())),
  }),
  v.check(
    ({ ranker, settings }) =>
      Object.entries(settings).every(([path, value]) =>
        rankerInfo(ranker)?.settings.some(
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

const rankRequest: v.GenericSchema<unknown, RankRequest> = v.strictObject({
  catalog: v.string(),
  query: v.pipe(v.string(), v.maxLength(MAX_QUERY, "The query is too long.")),
  columns,
  limit: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(50))),
}) as v.GenericSchema<unknown, RankRequest>;

const evaluateRequest: v.GenericSchema<unknown, EvaluateRequest> = v.strictObject({
  catalog: v.string(),
  set: v.string(),
  columns: v.pipe(columns, v.minLength(1, "There is no ranker to evaluate.")),
});

const upload: v.GenericSchema<unknown, Upload> = v.strictObject({
  name: v.pipe(v.string(), v.minLength(1), v.maxLength(200)),
  text: v.string(),
});

const oneCatalog: v.GenericSchema<unknown, { readonly catalog: string }> = v.strictObject({
  catalog: v.string(),
});

const oneSet: v.GenericSchema<unknown, { readonly set: string }> = v.strictObject({ set: v.string() });

/** What the page may send, each with its check. */
export const requests: {
  rank(body: unknown): RankRequest;
  evaluate(body: unknown): EvaluateRequest;
  upload(body: unknown): Upload;
  column(body: unknown): Column;
  catalog(body: unknown): { readonly catalog: string };
  set(body: unknown): { readonly set: string };
} = {
  rank: (body) => checked(rankRequest, body),
  evaluate: (body) => checked(evaluateRequest, body),
  upload: (body) => checked(upload, body),
  column: (body) => checked(column, body),
  catalog: (body) => checked(oneCatalog, body),
  set: (body) => checked(oneSet, body),
};

function checked<T>(schema: v.GenericSchema<unknown, T>, body: unknown): T {
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
