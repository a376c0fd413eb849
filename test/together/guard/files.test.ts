import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Plugin } from "../../../core/mod.ts";
import { createIdempotency } from "../../../plugins/guard/mod.ts";
import { fileStore, state } from "../../../plugins/state/mod.ts";
import { idempotencyContract } from "../../contracts/idempotency.ts";
import { testClock } from "../../plugins/guard/_clock.ts";
import { keyed, openBank } from "../../plugins/guard/_guarded.ts";
import { getError, readText } from "../../support/failure.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const charge = { tool: "bank:charge", args: { amount: 5 }, meta: keyed("key-0001") };

idempotencyContract("files", async () => {
  const [folder, clock] = [await temporaryFolder(), testClock()];
  return {
    idempotency: createIdempotency(fileStore(folder), { clock }),
    another: createIdempotency(fileStore(folder), { clock }),
    pass: clock.pass,
    setClock: clock.setClock,
  };
});

describe("fault 61: the record of a key", () => {
  const damages: Record<string, (file: string) => Promise<void>> = {
    "with a changed byte": async (file) => {
      const bytes = await readFile(file);
      const middle = bytes.length >> 1;
      bytes[middle] = (bytes[middle] ?? 0) ^ 1;
      await writeFile(file, bytes);
    },
    "that is cut short": async (file) => writeFile(file, (await readFile(file)).subarray(0, 40)),
    "that is gone": (file) => rm(file),
    "of another format": async (file) =>
      writeFile(file, (await readFile(file, "utf8")).replace("toolpipe-state-1", "toolpipe-state-9")),
  };

  test.each(Object.entries(damages))("%s never makes its call run twice", async (_what, damage) => {
    const folder = await temporaryFolder();
    const first = await openBank({ state: state({ folder }) });
    expect(readText(await first.gateway.run(charge))).toBe("done 1");
    await first.gateway.close();
    const values = join(folder, "idempotency", "values");
    for (const name of await readdir(values)) await damage(join(values, name));

    const reported: string[] = [];
    const watch: Plugin = {
      name: "watch",
      setup: () => ({ error: ({ code }) => void reported.push(code) }),
    };
    const { gateway, effects } = await openBank({ state: state({ folder }), plugins: [watch] });
    for (let time = 1; time <= 2; time++) {
      const error = getError(await gateway.run(charge));
      expect(error).toMatchObject({ code: "OUTCOME_UNKNOWN", data: { safe_new_key: false } });
      expect(error.message).toContain("its record cannot be read");
    }
    expect(effects).toHaveLength(0);
    expect(reported).toEqual(["STATE_DAMAGED"]);
  });
});
