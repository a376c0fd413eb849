import fc from "fast-check";
import { expect, test } from "vitest";
import { canonicalRecord } from "../../../plugins/audit/chain.ts";
import type { AuditRecord } from "../../../plugins/audit/mod.ts";
import { canonicalJson } from "../../../plugins/lib/hash.ts";

const text = fc.string({ unit: "binary" });
const record = fc.record(
  {
    via: text,
    tool_id: text,
    timestamp: text,
    stage: text,
    request_id: text,
    parent_id: text,
    params_hash: text,
    outcome: text,
    event: text,
    duration_ms: fc.double({ noNaN: true, noDefaultInfinity: true }),
    count: fc.nat(),
    actor_id: text,
  },
  { requiredKeys: [] },
) as fc.Arbitrary<unknown> as fc.Arbitrary<AuditRecord>;

test("a record is written as the canonical form has it, whatever it holds", () => {
  fc.assert(
    fc.property(record, text, fc.nat(), text, (given, chain, seq, before) => {
      const place = { chain, seq, prev_hash: before };
      expect(canonicalRecord(given, place)).toBe(canonicalJson({ ...given, ...place }));
    }),
  );
});
