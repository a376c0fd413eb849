import fc from "fast-check";
import { expect, test } from "vitest";
import { memorySink } from "../../../plugins/audit/mod.ts";
import { record, testAuditSink } from "../../contracts/audit-sink.ts";

testAuditSink("memorySink", async () => {
  const sink = memorySink();
  return { sink, read: async () => [...sink.records] };
});

test("only the last records are kept, as many as the limit says", () => {
  fc.assert(
    fc.property(fc.nat(20), fc.nat(50), (limit, count) => {
      const sink = memorySink(limit);
      for (let index = 0; index < count; index++) sink.write(record(index));
      const ids = sink.records.map(({ request_id }) => Number(request_id));
      expect(ids).toEqual(
        Array.from({ length: count }, (_, index) => index).slice(Math.max(0, count - limit)),
      );
    }),
  );
});

test("the limit is 1,000 if none is given", () => {
  const sink = memorySink();
  for (let index = 0; index < 1_001; index++) sink.write(record(index));
  expect(sink.records).toHaveLength(1_000);
  expect(sink.records[0]?.request_id).toBe("1");
});
