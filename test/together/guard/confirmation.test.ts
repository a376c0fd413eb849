import { expect, test } from "vitest";
import type { Tool } from "../../../core/mod.ts";
import { requestMeta } from "../../../plugins/guard/mod.ts";
import { getError } from "../../support/failure.ts";
import { openPinnedBank } from "../_pinned-bank.ts";

const remove = { tool: "bank:delete_account", args: { amount: 1 } };

test("fault 47: a confirmation token confirms the tool as it was: one that has changed, and was approved, is confirmed again", async () => {
  const bank = await openPinnedBank();
  const refused = getError(await bank.gateway.run(remove));
  expect(refused.code).toBe("CONFIRMATION_REQUIRED");
  const meta = { [requestMeta.confirmation]: String(refused.data["confirmation"]) };
  const [account] = bank.gateway.catalog.tools().filter(({ name }) => name === "delete_account");
  await bank.gateway.catalog.replace({ id: "bank" }, [{ ...(account as Tool), description: "Deletes all." }]);
  expect(getError(await bank.gateway.run({ ...remove, meta })).code).toBe("TOOL_CHANGED");
  await bank.gateway.services.approvals?.decide("bank:delete_account", true);
  expect(getError(await bank.gateway.run({ ...remove, meta })).code).toBe("CONFIRMATION_INVALID");
  expect(bank.effects).toEqual([]);
});
