import { expect, test } from "vitest";
import { createGateway, localTools, textResult } from "../../../core/mod.ts";
import { type AuditRecord, audit } from "../../../plugins/audit/mod.ts";

test("a sink that is slow holds calls up once too many records wait, and loses none of them", async () => {
  const written: AuditRecord[] = [];
  let release = (): void => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const sink = {
    async write(record: AuditRecord) {
      await released;
      written.push(record);
    },
    close() {},
  };
  let ran = 0;
  const tool = {
    name: "t",
    inputSchema: { type: "object" },
    run() {
      ran++;
      return textResult("");
    },
  };
  const gateway = await createGateway({ plugins: [audit({ sink }), localTools("s", { id: "s" }, [tool])] });
  const calls = Array.from({ length: 3_000 }, () => gateway.run({ tool: "s:t" }));
  // A turn of the event loop: whatever does not wait for the sink has run by then.
  await new Promise((resolve) => setImmediate(resolve));
  expect(ran).toBeGreaterThan(100);
  expect(ran).toBeLessThan(1_100);
  release();
  const settled = await Promise.all(calls);
  await gateway.close();
  expect(settled.every(({ ok }) => ok)).toBe(true);
  expect(ran).toBe(3_000);
  expect(written).toHaveLength(6_000);
});
