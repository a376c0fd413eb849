import fc from "fast-check";
import { expect, test } from "vitest";
import { canonicalRecord } from "../../../plugins/audit/_canonical-record.ts";
import { canonicalJson } from "../../../plugins/guard/canonical.ts";

const fields = [
  "event",
  "request_id",
  "parent_id",
  "tool_id",
  "via",
  "seq",
  "duration_ms",
  "timestamp",
  "made_up",
  "__proto__x",
];
const value = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.boolean(),
  fc.constant(undefined),
  fc.constant(null),
  fc.array(fc.string()),
  fc.dictionary(fc.string(), fc.string()),
);

test("a record is written as the canonical form has it, whatever it holds and in whatever order", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom(...fields), value), (record) => {
      expect(canonicalRecord(record)).toBe(canonicalJson(record));
    }),
  );
});
