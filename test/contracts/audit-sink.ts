import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { MaybePromise } from "../../core/mod.ts";
import { hashRecord } from "../../plugins/audit/chain.ts";
import type { AuditRecord, AuditSink, ChainedRecord } from "../../plugins/audit/mod.ts";

/** A sink under test, and the records that are safe in it. */
export interface SinkUnderTest {
  readonly sink: AuditSink;
  /** Reads what the sink holds, oldest first. */
  read(): Promise<readonly (AuditRecord & ChainedRecord)[]>;
}

/** A record that differs from others by its id. */
export function record(id: string | number, rest: Partial<AuditRecord> = {}): AuditRecord {
  return {
    event: "outcome",
    request_id: String(id),
    tool_id: "demo:add",
    actor_id: "local",
    timestamp: "2026-01-01T00:00:00.000Z",
    params_hash: "0123456789abcdef",
    outcome: "ok",
    stage: "execute",
    duration_ms: 1.5,
    ...rest,
  };
}

/** Writes a record that has time, where the sink makes use of that. */
function later(sink: AuditSink, id: number): MaybePromise<void> {
  return sink.writeSoon ? sink.writeSoon(() => record(id), 50) : sink.write(record(id));
}

/** The contract of every audit sink. */
export function testAuditSink(name: string, open: () => Promise<SinkUnderTest>): void {
  describe(`${name} as an audit sink`, () => {
    test("a record is kept as it was once its write resolves", async () => {
      const { sink, read } = await open();
      const given = record(1, { parent_id: "0", via: "cache", outcome: "TIMEOUT" });
      await sink.write(given);
      expect(await read()).toEqual([
        { ...given, chain: expect.any(String), seq: 1, prev_hash: "0".repeat(64), hash: expect.any(String) },
      ]);
      await sink.close();
    });

    test("records keep the order of their writes, whether these are waited for or not", async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(fc.boolean(), { minLength: 1, maxLength: 50 }), async (waits) => {
          const { sink, read } = await open();
          const writes = [];
          for (const [index, waitsForIt] of waits.entries()) {
            const writing = sink.write(record(index));
            writes.push(writing);
            if (waitsForIt) await writing;
          }
          await Promise.all(writes);
          const ids = (await read()).map(({ request_id }) => Number(request_id));
          expect(ids).toEqual([...waits.keys()]);
          await sink.close();
        }),
        { numRuns: 20 },
      );
    });

    test("each record follows the one before, by number and by hash", async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(fc.boolean(), { minLength: 1, maxLength: 30 }), async (soon) => {
          const { sink, read } = await open();
          await Promise.all(
            soon.map((each, index) => (each ? later(sink, index) : sink.write(record(index)))),
          );
          await sink.close();
          const records = await read();
          expect(records.map(({ seq }) => seq)).toEqual(soon.map((_, index) => index + 1));
          expect(new Set(records.map(({ chain }) => chain)).size).toBe(1);
          for (const [index, each] of records.entries()) {
            expect(each.hash).toBe(hashRecord(each));
            expect(each.prev_hash).toBe(records[index - 1]?.hash ?? "0".repeat(64));
          }
        }),
        { numRuns: 10 },
      );
    });

    test("a record that has time is safe a moment later all the same", async () => {
      const { sink, read } = await open();
      const began = performance.now();
      await later(sink, 1);
      expect(performance.now() - began).toBeLessThan(10_000);
      expect(await read()).toHaveLength(1);
      await sink.close();
    });

    test("a record that has no time takes those with it that have", async () => {
      const { sink, read } = await open();
      const waiting = later(sink, 1);
      await sink.write(record(2));
      expect((await read()).map(({ request_id }) => request_id)).toEqual(["1", "2"]);
      await waiting;
      await sink.close();
    });

    test("close makes every record safe that was taken before", async () => {
      const { sink, read } = await open();
      const writes = Array.from({ length: 100 }, (_, index) => sink.write(record(index)));
      await sink.close();
      expect(await read()).toHaveLength(100);
      await Promise.all(writes);
    });

    test("close without a record, and a second close, do nothing", async () => {
      const { sink, read } = await open();
      await sink.close();
      await sink.close();
      expect(await read()).toEqual([]);
    });

    test("a record that comes after close is not taken", async () => {
      const { sink, read } = await open();
      await sink.write(record(1));
      await sink.close();
      await Promise.resolve(sink.write(record(2))).catch(() => {});
      expect((await read()).map(({ request_id }) => request_id)).toEqual(["1"]);
    });

    test("returns any string unchanged, and no string breaks out of its record", async () => {
      const hostile = 'a"b\\c\nd\r\u2028\u0000{}😀,\ud800';
      const { sink, read } = await open();
      await sink.write(record(1, { tool_id: hostile }));
      await sink.write(record(2));
      expect((await read()).map(({ tool_id }) => tool_id)).toEqual([hostile, "demo:add"]);
      await sink.close();
    });
  });
}
