import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { localTools, textResult } from "../../core/mod.ts";
import { requestMeta } from "../../core/services/policy.ts";
import { audit } from "../../plugins/audit/mod.ts";
import { guard } from "../../plugins/guard/mod.ts";
import { state } from "../../plugins/state/mod.ts";
import { openGateway } from "../support/open-gateway.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

test("behind the guard a call is recorded once it may happen: a refusal and a replay are one record each, and a key is not used up by a call that could not be recorded", async () => {
  const folder = await temporaryFolder({ logs: "a file where a folder should be" });
  const file = join(folder, "logs", "audit.jsonl");
  let charges = 0;
  const tool = {
    name: "send_payment",
    inputSchema: { type: "object" },
    run() {
      charges++;
      return textResult("charged");
    },
  };
  const gateway = await openGateway({
    plugins: [
      audit({ file }),
      state({ folder: join(folder, "state") }),
      guard({ scopes: { "*": ["*"] } }),
      localTools("pay", { id: "pay" }, [tool]),
    ],
  });
  const run = async (key?: string): Promise<string> => {
    const meta = key === undefined ? {} : { [requestMeta.idempotencyKey]: key };
    const call = await gateway.run({ tool: "pay:send_payment", args: { amount: 5 }, meta });
    return call.ok ? (call.via ?? "ok") : call.error.code;
  };
  expect(await run("key-number-1")).toBe("AUDIT_UNAVAILABLE");
  expect(charges).toBe(0);
  await rm(join(folder, "logs"));
  expect(await run()).toBe("IDEMPOTENCY_REQUIRED");
  expect(await run("key-number-1")).toBe("ok");
  expect(await run("key-number-1")).toBe("replay");
  expect(charges).toBe(1);
  await gateway.close();
  const lines = (await readFile(file, "utf8"))
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(lines.filter(({ event }) => event !== "note").map(({ event, outcome }) => [event, outcome])).toEqual(
    [
      ["denial", "IDEMPOTENCY_REQUIRED"],
      ["intent", "pending"],
      ["outcome", "ok"],
      ["outcome", "ok"],
    ],
  );
  expect(lines.at(-2)).toMatchObject({ via: "replay" });
  expect(lines.at(-1)).toMatchObject({ event: "note", outcome: "closed" });
});
