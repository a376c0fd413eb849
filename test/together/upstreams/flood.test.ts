import { expect, test } from "vitest";
import { memorySink } from "../../../plugins/audit/mod.ts";
import { passthrough } from "../../../presets/passthrough.ts";
import { readText } from "../../support/failure.ts";
import { openGateway } from "../../support/open-gateway.ts";
import { faulty } from "../../support/stdio-servers.ts";
import { until } from "../../support/until.ts";

const NOTES = 50_000;

test("fault 78: progress and changed lists without end are coalesced, and hold up no other server", {
  timeout: 120_000,
}, async () => {
  const [flooding, quiet] = [faulty("flood"), faulty("ok")];
  const entry = (name: string, { command, args }: typeof quiet): object => ({
    name,
    command,
    args: [...args],
  });
  let listings = 0;
  const gateway = await openGateway({
    preset: passthrough,
    options: {
      audit: { sink: memorySink() },
      cache: { enabled: false },
      sources: { servers: [entry("flooding", flooding), entry("quiet", quiet)] },
      timeout: { ms: 100_000 },
    },
  });
  await gateway.services.servers?.refresh();
  const listedAt = (): number => gateway.services.servers?.status("flooding")?.listedAt ?? 0;
  let last = listedAt();
  const watching = setInterval(() => {
    if (listedAt() === last) return;
    last = listedAt();
    listings++;
  }, 10);

  const reports: number[] = [];
  let isOver = false;
  const began = performance.now();
  const flood = gateway
    .run({
      tool: "flooding:fault",
      args: { notes: NOTES },
      onProgress: ({ progress }) => void reports.push(progress),
    })
    .finally(() => {
      isOver = true;
    });
  await until(() => reports.length > 0, 20_000);
  for (let calls = 0; calls < 20; calls++) {
    expect(readText(await gateway.run({ tool: "quiet:echo", args: { text: "hi" } }))).toBe("hi");
  }
  expect(isOver).toBe(false);
  expect(readText(await flood)).toBe("over");
  clearInterval(watching);
  const tookMs = performance.now() - began;
  // The first hundred at once, later ones twenty a second, and the last one before the answer.
  expect(reports.length).toBeLessThanOrEqual(100 + tookMs / 50 + 2);
  expect(reports.at(-1)).toBe(NOTES);
  expect(reports).toEqual(reports.toSorted((a, b) => a - b));
  expect(listings).toBeGreaterThanOrEqual(1);
  expect(listings).toBeLessThanOrEqual(tookMs / 1_000 + 2);
});
