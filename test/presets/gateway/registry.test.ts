import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { createGateway, type JsonObject, type Plugin } from "../../../core/mod.ts";
import { listLiveOperations } from "../../../presets/gateway/operations.ts";
import { createRegistryOutline, findRegistryFaults } from "../../../presets/gateway/registry.ts";
import { until } from "../../plugins/serve/_http.ts";
import { catchFailure, getError } from "../../support/failure.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { openPay, paySetting } from "../_gateway-api.ts";

interface Written {
  schema_version: string;
  last_verified_at: string;
  operation_count: number;
  operations: Record<string, JsonObject>;
}

afterEach(() => void vi.unstubAllEnvs());

const read = async (file: string): Promise<Written> => JSON.parse(await readFile(file, "utf8"));

async function written(): Promise<{ file: string; registry: Written }> {
  const file = join(await temporaryFolder(), "registry", "operations.json");
  await openPay({ registry: { path: file } });
  return { file, registry: await read(file) };
}

test("the registry is written in the form of the specification, from what there is", async () => {
  const { registry } = await written();
  expect(registry).toMatchObject({
    schema_version: "1.0.0",
    last_verified_at: expect.stringMatching(/^\d{4}-/),
    operation_count: Object.keys(registry.operations).length,
  });
  expect(registry.operations["pay:charge-authorization"]).toEqual({
    adapter: "pay",
    tool: "charge-authorization",
    description: "Charge a previously authorized card.",
    tags: ["transactions", "payments", "nigeria", "ghana", "ngn", "ghs"],
    method: "POST",
    path: "/transaction/charge_authorization",
    input_schema: expect.objectContaining({ type: "object" }),
    required_params: ["amount", "email", "authorization_code"],
    optional_params: ["currency", "metadata"],
    risk_level: "high",
    idempotent: true,
    idempotency_required: true,
    reversible: false,
    requires_confirmation: false,
    required_scopes: ["payments:write"],
    rate_limit_bucket: "payments_high_risk",
    example_request: { amount: 500000, email: "customer@example.com", authorization_code: "AUTH_xxxxx" },
    common_errors: [
      { code: "bad_request", status: "400", meaning: "The card was declined", fix: expect.any(String) },
      { code: "card_declined", meaning: "The bank said no.", fix: "Ask for another card." },
    ],
  });
  expect(registry.operations["demo:word-count"]).toMatchObject({ method: "MCP", path: "demo:word_count" });
});

test("it follows what there is, and what it said before is never believed", async () => {
  const file = join(
    await temporaryFolder({ "operations.json": '{"operations":{"gone:tool":{}}}' }),
    "operations.json",
  );
  const { gateway, ask } = await openPay({ registry: { path: file } });
  expect((await read(file)).operations).not.toHaveProperty(["gone:tool"]);
  expect(await ask("execute", { tool_id: "gone:tool", params: {} })).toMatchObject({
    error: { code: "TOOL_NOT_FOUND" },
  });
  await gateway.catalog.remove("odd");
  let now: Written | undefined;
  void (async () => {
    while (!now || "odd:bare" in now.operations) now = await read(file);
  })();
  await until(() => now !== undefined && !("odd:bare" in now.operations));
  expect(now?.operation_count).toBe(Object.keys(now?.operations ?? {}).length);
});

test("a registry that cannot be written costs nothing but itself", async () => {
  const told: string[] = [];
  const listening: Plugin = {
    name: "listening",
    setup: () => ({ error: ({ message }) => void told.push(message) }),
  };
  const folder = await temporaryFolder({ file: "" });
  const { ask } = await openPay({ registry: { path: join(folder, "file", "operations.json") } }, [listening]);
  expect(await ask("intent", { query: "pay:list-banks" })).toMatchObject({ recommended: {} });
  expect(told).toEqual([expect.stringContaining("the registry cannot be written")]);
});

test("MCP_REGISTRY_PATH names the file, before the config does", async () => {
  const folder = await temporaryFolder();
  vi.stubEnv("MCP_REGISTRY_PATH", join(folder, "here.json"));
  await openPay({ registry: { path: join(folder, "there.json") } });
  expect((await read(join(folder, "here.json"))).schema_version).toBe("1.0.0");
  await expect(read(join(folder, "there.json"))).rejects.toThrow("ENOENT");
});

describe("a registry that is kept and not written", () => {
  async function changed(change: (registry: Written) => unknown): Promise<string> {
    const { file, registry } = await written();
    await writeFile(file, JSON.stringify(change(registry) ?? registry));
    return file;
  }

  test("is accepted where it lists real operations", async () => {
    const file = await changed(() => undefined);
    const { ask } = await openPay({ registry: { path: file, write: false } });
    expect(await ask("intent", { query: "pay:list-banks" })).toMatchObject({ recommended: {} });
  });

  test.each<[string, (registry: Written) => unknown, RegExp]>([
    [
      "an operation that is not live",
      ({ operations, ...rest }) => ({
        ...rest,
        operations: { ...operations, "pay:gone": operations["pay:list-banks"] },
      }),
      /do not exist: pay:gone/,
    ],
    [
      "a live operation missing",
      (registry) => void delete registry.operations["pay:list-banks"],
      /lacks operations: pay:list-banks/,
    ],
    [
      "a required field missing",
      (registry) => void delete registry.operations["pay:list-banks"]?.["input_schema"],
      /lacks fields of: pay:list-banks/,
    ],
    [
      "risk metadata missing",
      (registry) => void delete registry.operations["pay:list-banks"]?.["risk_level"],
      /lacks risk metadata of: pay:list-banks/,
    ],
    ["another count", (registry) => ({ ...registry, operation_count: 1604 }), /counts 1604 operations/],
    ["another version", (registry) => ({ ...registry, schema_version: "0.9" }), /another version/],
    ["nothing in it", () => ({}), /holds no operations/],
  ])("with %s refuses the start in lazy mode", async (_what, change, message) => {
    const file = await changed(change);
    const { config } = await paySetting({ registry: { path: file, write: false } });
    const error = await catchFailure(createGateway(config));
    expect(error.code).toBe("CONFIG_INVALID");
    expect(error.message).toMatch(message);
    expect(error.message).toContain(file);
  });

  test("lets the gateway start without intent, where that is chosen", async () => {
    const file = await changed((registry) => ({ ...registry, operation_count: 1 }));
    const { gateway, ask } = await openPay({ registry: { path: file, write: false, onFailure: "degrade" } });
    const error = getError(await gateway.run({ tool: "gateway:gateway.intent", args: { query: "banks" } }));
    expect(error.code).toBe("INTENT_DISABLED");
    expect(error.message).toMatch(/switched off: The registry counts 1 operations .* Use gateway.tools/);
    expect(await ask("tools", { adapter: "pay" })).toMatchObject({ total_tools: 5 });
    expect(await ask("execute", { tool_id: "pay:list-banks", params: {} })).toMatchObject({ success: true });
  });

  test("does not keep full mode from starting", async () => {
    const file = await changed((registry) => ({ ...registry, operation_count: 1 }));
    await openPay({ registry: { path: file, write: false }, discovery: { mode: "full" } });
  });

  test("that is not there refuses the start", async () => {
    const { config } = await paySetting({ registry: { path: "/nowhere/operations.json", write: false } });
    expect((await catchFailure(createGateway(config))).message).toContain("the registry cannot be read");
  });
});

test("operations without a declared risk level fail the contract", async () => {
  const { gateway } = await openPay({ guard: { enabled: false } });
  const [registry, live] = [createRegistryOutline(gateway), listLiveOperations(gateway)];
  expect(findRegistryFaults(registry, live)).toEqual([]);
  expect(findRegistryFaults(registry, live, { riskExpected: true })).toEqual([
    "No plugin rates the risk of these operations: demo:add, demo:countdown, demo:word-count and 8 more.",
  ]);
  expect(Object.values(registry.operations).map((operation) => operation["risk_level"])).toEqual(
    Array.from({ length: 11 }, () => "high"),
  );
});
