import { readFile } from "node:fs/promises";
import { expect } from "vitest";
import type { JsonObject } from "../../../core/mod.ts";
import type { Specification } from "../specification.ts";
import { CHARGE, callTool, card, described, execute, SILENT, watch, world } from "./world.ts";

const DELETE = "paystack:delete-transfer-recipient";
const properties = (): Readonly<Record<string, JsonObject>> =>
  described("gateway.execute").inputSchema["properties"] as Readonly<Record<string, JsonObject>>;
const options = (): Readonly<Record<string, JsonObject>> =>
  properties()["options"]?.["properties"] as Readonly<Record<string, JsonObject>>;
/** Lines 162 to 198: what gateway.execute takes. */
export function executeRows({ row, prose }: Specification): void {
  prose(164, "168-171", 174, 176, 188, "193-195", "197-198");

  row("166", "Any operation is executed, once its parameters are valid and its risk is met.", async () => {
    expect(await execute("paystack:read-part1", {})).toMatchObject({ success: true });
    expect(await execute("paystack:read-part1", { other: 1 })).toMatchObject({ success: false });
    expect(await execute(CHARGE, card)).toMatchObject({ success: false });
  });
  row("172-173", "The tool is listed under its name and description.", () => {
    expect(described("gateway.execute")).toMatchObject({
      name: "gateway.execute",
      description: "Execute a specific tool. Use gateway.intent first to find the right tool_id.",
    });
  });
  row("175, 196", "The arguments are an object, of which tool_id and params are required.", async () => {
    expect(described("gateway.execute").inputSchema).toMatchObject({
      type: "object",
      required: ["tool_id", "params"],
    });
    for (const args of [{ params: {} }, { tool_id: CHARGE }])
      expect(await callTool("gateway.execute", args)).toMatchObject({ error: { code: "INVALID_ARGUMENTS" } });
  });
  row("177-181", "tool_id is a string adapter:tool of small letters, digits and hyphens.", async () => {
    expect(properties()["tool_id"]).toEqual({
      type: "string",
      description: "Tool identifier in 'adapter:tool' format",
      pattern: "^[a-z0-9-]+:[a-z0-9-]+$",
    });
    const pattern = new RegExp(String(properties()["tool_id"]?.["pattern"]));
    const { operations } = JSON.parse(await readFile(world.registry, "utf8")) as { operations: object };
    for (const id of Object.keys(operations)) expect(id).toMatch(pattern);
    expect(await callTool("gateway.execute", { tool_id: "Pay Stack", params: {} })).toMatchObject({
      success: false,
      error: { code: "TOOL_NOT_FOUND" },
    });
  });
  row("182-185", "params is an object with the parameters of the tool.", async () => {
    expect(properties()["params"]).toEqual({ type: "object", description: "Parameters for the tool" });
    expect(await callTool("gateway.execute", { tool_id: CHARGE, params: "x" })).toMatchObject({
      success: false,
      error: { code: "INVALID_ARGUMENTS" },
    });
    const [request] = await watch(() => execute("paystack:list-transactions", { status: "failed" }));
    expect(request).toMatchObject({ url: "/transaction?status=failed" });
  });
  row("186-187", "options is an optional object; an unknown option is refused.", async () => {
    expect(properties()["options"]).toMatchObject({ type: "object" });
    const args = { tool_id: "paystack:read-part1", params: {} };
    expect(await callTool("gateway.execute", args)).toMatchObject({ success: true });
    expect(await callTool("gateway.execute", { ...args, options: { confirm: true } })).toMatchObject({
      error: { code: "INVALID_ARGUMENTS", message: expect.stringContaining("confirm") },
    });
  });
  row(
    "189",
    "timeout is a whole number of milliseconds, 30000 by default, after which the call ends.",
    async () => {
      expect(options()["timeout"]).toMatchObject({ type: "integer", default: 30000 });
      expect(await execute(SILENT, {}, { timeout: 50 })).toMatchObject({
        success: false,
        error: { code: "TIMEOUT", message: expect.stringContaining("within 50 ms") },
      });
      expect(await execute("paystack:read-part2", {}, { timeout: 20_000 })).toMatchObject({ success: true });
      expect(
        await callTool("gateway.execute", { tool_id: CHARGE, params: {}, options: { timeout: 0 } }),
      ).toMatchObject({
        error: { code: "INVALID_ARGUMENTS" },
      });
    },
  );
  row(
    "190",
    "idempotency_key is a string, required where the risk is high; its length and pattern are listed.",
    async () => {
      expect(options()["idempotency_key"]).toEqual({
        type: "string",
        minLength: 8,
        maxLength: 255,
        pattern: "^[!-~]+$",
        description: "REQUIRED for high-risk operations",
      });
      const sent = await watch(async () => {
        expect(await execute(CHARGE, card, { idempotency_key: "execute-190" })).toMatchObject({
          success: true,
        });
        const again = await execute(CHARGE, card, { idempotency_key: "execute-190" });
        expect(again).toMatchObject({ success: true, meta: { via: "replay" } });
      });
      expect(sent).toHaveLength(1);
    },
  );
  row(
    "191",
    "dry_run is false by default; where it is true, the request is shown and nothing is sent.",
    async () => {
      expect(options()["dry_run"]).toEqual({ type: "boolean", default: false });
      const sent = await watch(async () => {
        const answer = await execute(CHARGE, card, { dry_run: true });
        expect(answer).toMatchObject({ success: true, data: { dry_run: true, request: { method: "POST" } } });
        expect(JSON.stringify(answer)).not.toContain("sk_canary");
      });
      expect(sent).toEqual([]);
    },
  );
  row(
    "192",
    "confirmed is false by default, and required where the operation destroys something.",
    async () => {
      expect(options()["confirmed"]).toEqual({
        type: "boolean",
        default: false,
        description: "REQUIRED for destructive operations",
      });
      const key = { idempotency_key: "execute-192" };
      const sent = await watch(async () => {
        expect(await execute(DELETE, { code: "RCP_1" }, { ...key, confirmed: false })).toMatchObject({
          success: false,
        });
        expect(await execute(DELETE, { code: "RCP_1" }, { ...key, confirmed: true })).toMatchObject({
          success: true,
        });
      });
      expect(sent).toMatchObject([{ method: "DELETE", url: "/transferrecipient/RCP_1" }]);
    },
  );
}
