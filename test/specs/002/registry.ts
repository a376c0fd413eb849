import { expect } from "vitest";
import type { JsonObject } from "../../../core/mod.ts";
import type { Specification } from "../specification.ts";
import { readRegistryFile } from "./registry-file.ts";
import { CHARGE, execute } from "./world.ts";

/** Lines 519 to 546: the registry. */
export function registryRows({ row, differs, prose }: Specification): void {
  prose("519-522", "543-545");

  const charge = async (): Promise<JsonObject> => (await readRegistryFile()).operations[CHARGE] as JsonObject;

  row("523", "The registry has the version 1.0.0 of its form.", async () => {
    expect((await readRegistryFile()).schema_version).toBe("1.0.0");
  });
  row("524", "It has the time of its verification.", async () => {
    expect((await readRegistryFile()).last_verified_at).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  });
  row("525", "It counts its operations.", async () => {
    const { operation_count, operations } = await readRegistryFile();
    expect([operation_count, Object.keys(operations).length]).toEqual([1604, 1604]);
  });
  row("526-527", "Its operations are entries by tool_id, each of which can be called.", async () => {
    for (const id of Object.keys((await readRegistryFile()).operations).slice(0, 5))
      expect(await execute(id, {}, { dry_run: true })).not.toMatchObject({
        error: { code: "TOOL_NOT_FOUND" },
      });
    expect(await charge()).toBeDefined();
  });
  for (const [line, field, value] of [
    ["528", "adapter", "paystack"],
    ["529", "tool", "charge-authorization"],
    ["532", "method", "POST"],
    ["533", "path", "/transaction/charge_authorization"],
    ["535", "required_params", ["email", "amount", "authorization_code"]],
    ["537", "risk_level", "high"],
    ["538", "idempotent", true],
    ["539", "reversible", false],
    ["540", "requires_confirmation", false],
  ] as const) {
    row(line, `An entry has ${field}, for charging a card ${JSON.stringify(value)}.`, async () => {
      expect((await charge())[field]).toEqual(value);
    });
  }
  row("530", "It has the description of the document, without the name before it.", async () => {
    expect((await charge())["description"]).toMatch(/^Charge all authorizations marked as reusable/);
  });
  row("531", "It has tags: category, resource, country and currency.", async () => {
    expect((await charge())["tags"]).toEqual(
      expect.arrayContaining(["payments", "transaction", "nigeria", "ngn"]),
    );
  });
  row("534", "It has the schema of its parameters.", async () => {
    expect((await charge())["input_schema"]).toMatchObject({
      type: "object",
      properties: { amount: { type: "integer" } },
    });
  });
  row("536", "It lists the optional parameters.", async () => {
    const expected = ["reference", "currency", "metadata"];
    expect((await charge())["optional_params"]).toEqual(expect.arrayContaining(expected));
  });
  row("541", "It has an example of a request, which passes the check.", async () => {
    const { example_request } = await charge();
    expect(await execute(CHARGE, example_request as object, { dry_run: true })).toMatchObject({
      success: true,
    });
  });
  differs(
    "542",
    "common_errors is a list of codes.",
    "Each has its code, its meaning and a fix, as the errors of gateway.reference have (line 425): a code alone does not help.",
    async () => {
      const errors = (await charge())["common_errors"] as JsonObject[];
      expect(errors).toContainEqual(
        expect.objectContaining({
          code: "invalid_key",
          meaning: expect.any(String),
          fix: expect.any(String),
        }),
      );
    },
  );
}
