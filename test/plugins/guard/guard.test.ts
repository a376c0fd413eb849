import { describe, expect, test } from "vitest";
import { createGateway, GatewayError, type JsonObject, localTools, textResult } from "../../../core/mod.ts";
import { guard, requestMeta } from "../../../plugins/guard/mod.ts";
import { memoryStore } from "../../../plugins/lib/memory-store.ts";
import { getError, readText } from "../../support/failure.ts";
import { plugin } from "../../support/hooks.ts";
import { confirmed, keyed, openBank } from "./_guarded.ts";

const charge = { tool: "bank:charge", args: { amount: 5 } };
const remove = { tool: "bank:delete_account", args: { amount: 1 } };
const unauthorized = { id: "unauthorized", scopes: [] };

describe("a high-risk call", () => {
  test("without a key it is refused, and told what to do", async () => {
    const { gateway, effects } = await openBank();
    const call = await gateway.run(charge);
    expect(getError(call)).toMatchObject({
      code: "IDEMPOTENCY_REQUIRED",
      kind: { spec: "IDEMPOTENCY_REQUIRED" },
    });
    expect(getError(call).data).toMatchObject({
      tool: "bank:charge",
      risk_level: "high",
      request_id: call.id,
      retryable: false,
      meta_key: requestMeta.idempotencyKey,
      suggestion: expect.stringContaining("idempotency_key"),
    });
    expect(call.stage).toBe("policy");
    expect(effects).toEqual([]);
  });

  test.each(["short", "a b c d e f g", "k".repeat(256), "schlüssel", 12345678, true, "", null])(
    "the key %j is refused",
    async (key) => {
      const { gateway, effects } = await openBank();
      const call = await gateway.run({ ...charge, meta: { [requestMeta.idempotencyKey]: key } });
      expect(getError(call).code).toBe("IDEMPOTENCY_KEY_INVALID");
      expect(effects).toEqual([]);
    },
  );

  test.each(["12345678", "k".repeat(255), "!~{}[]<>"])("the key %j is taken", async (key) => {
    const { gateway } = await openBank();
    expect(readText(await gateway.run({ ...charge, meta: keyed(key) }))).toBe("done 1");
  });

  test("refuses a state in memory, unless the options allow it", async () => {
    const store = { ...memoryStore(), volatile: true };
    const meta = keyed("key-0001");
    const { gateway, effects } = await openBank({ store });
    expect(getError(await gateway.run({ ...charge, meta })).code).toBe("STATE_VOLATILE");
    expect(effects).toEqual([]);
    const allowing = await openBank({ store, guard: { allowVolatile: true } });
    expect(readText(await allowing.gateway.run({ ...charge, meta }))).toBe("done 1");
    expect((await allowing.gateway.run({ ...charge, meta })).via).toBe("replay");
  });

  test("where there is no state at all, that is the same", async () => {
    const tool = { name: "charge", inputSchema: {}, run: () => textResult("done") };
    const gateway = await createGateway({ plugins: [guard(), localTools("bank", { id: "bank" }, [tool])] });
    expect(getError(await gateway.run({ ...charge, meta: keyed("key-0001") })).code).toBe("STATE_VOLATILE");
    await gateway.close();
  });
});

describe("a destructive call", () => {
  test("without a confirmation it is refused in the words of the specification", async () => {
    const { gateway, effects } = await openBank();
    const error = getError(await gateway.run(remove));
    expect(error).toMatchObject({
      code: "CONFIRMATION_REQUIRED",
      message: "This operation is destructive and cannot be undone.",
      data: { risk_level: "destructive", suggestion: expect.stringContaining("confirmed: true") },
    });
    expect(effects).toEqual([]);
  });

  test("with confirmed: true it is made", async () => {
    const { gateway } = await openBank();
    expect(readText(await gateway.run({ ...remove, meta: confirmed }))).toBe("done 1");
  });

  test.each(["true", 1, {}, [true]])("confirmed: %j is no confirmation", async (value) => {
    const { gateway } = await openBank();
    const call = await gateway.run({ ...remove, meta: { [requestMeta.confirmed]: value } as JsonObject });
    expect(getError(call).code).toBe("CONFIRMATION_REQUIRED");
  });
});

describe("scopes", () => {
  test("names the missing scope before any other check", async () => {
    const { gateway } = await openBank();
    const error = getError(await gateway.run({ ...charge, actor: unauthorized }));
    expect(error).toMatchObject({
      code: "SCOPE_REQUIRED",
      data: {
        required_scopes: ["bank:write"],
        missing_scopes: ["bank:write"],
        suggestion: expect.any(String),
      },
    });
  });

  test.each([
    [["bank:write"], true],
    [["bank:*"], true],
    [["*"], true],
    [["bank:read"], false],
    [["bank:writer"], false],
    [["ban:*"], false],
    [[], false],
  ])("%j: let through is %j", async (scopes, isLet) => {
    const { gateway } = await openBank();
    const call = await gateway.run({ ...charge, actor: { id: "a", scopes }, meta: keyed("key-0001") });
    expect(call.ok).toBe(isLet);
  });

  test("the local user has all of them unless the config says otherwise", async () => {
    const { gateway } = await openBank({ guard: { scopes: { ada: ["bank:write"], "*": ["x"] } } });
    const meta = keyed("key-0001");
    expect(getError(await gateway.run({ ...charge, meta })).code).toBe("SCOPE_REQUIRED");
    expect((await gateway.run({ ...charge, meta, actor: { id: "ada", scopes: [] } })).ok).toBe(true);
  });

  test("nothing is needed to look", async () => {
    const { gateway } = await openBank();
    expect((await gateway.run({ tool: "bank:get_balance", actor: unauthorized })).ok).toBe(true);
  });
});

test("the stages come in the order of the specification", async () => {
  const seen: string[] = [];
  const watch = plugin("watch", {
    policy: () => void seen.push("policy"),
    validate: () => void seen.push("validate"),
    async execute(_call, next) {
      seen.push((await store.list("idempotency/")).map(({ value }) => String(value["state"])).join());
      await next();
    },
  });
  const { gateway, store } = await openBank({ plugins: [watch] });
  const wrong = { tool: "bank:charge", args: { amount: "much" } };
  expect(getError(await gateway.run({ ...wrong, actor: unauthorized })).code).toBe("SCOPE_REQUIRED");
  expect(getError(await gateway.run(wrong)).code).toBe("IDEMPOTENCY_REQUIRED");
  expect(seen).toEqual([]);
  const meta = keyed("key-0001");
  expect(getError(await gateway.run({ ...wrong, meta })).code).toBe("INVALID_ARGUMENTS");
  expect(await store.list("idempotency/")).toEqual([]);
  await gateway.run({ ...charge, meta });
  expect(seen).toEqual(["policy", "policy", "validate", "in progress"]);
  expect((await store.list("idempotency/")).map(({ value }) => value["state"])).toEqual(["completed"]);
});

describe("a dry run", () => {
  const dry = { [requestMeta.dryRun]: true };

  test("needs neither key nor confirmation, has no effect and begins nothing", async () => {
    const { gateway, effects, store } = await openBank();
    for (const tool of ["bank:charge", "bank:delete_account"]) {
      const call = await gateway.run({ tool, args: { amount: 5 }, meta: { ...dry, ...keyed("key-0001") } });
      expect(call).toMatchObject({ ok: true, via: "dry run" });
      expect(call.result?.structuredContent).toEqual({
        dry_run: true,
        request: { server: "bank", tool: tool.slice(5), arguments: { amount: 5 } },
      });
    }
    expect(effects).toEqual([]);
    expect(await store.list("idempotency/")).toEqual([]);
  });

  test("needs scopes and right arguments all the same", async () => {
    const { gateway } = await openBank();
    expect(getError(await gateway.run({ ...charge, meta: dry, actor: unauthorized })).code).toBe(
      "SCOPE_REQUIRED",
    );
    expect(getError(await gateway.run({ tool: "bank:charge", meta: dry })).code).toBe("INVALID_ARGUMENTS");
  });
});

test("a tool that another plugin has disabled is refused as such", async () => {
  const disabling = plugin("disabling", {
    "tool:discover": (tool) => {
      tool.enabled = false;
      tool.disabledBecause = "Not today.";
    },
  });
  const { gateway } = await openBank({ plugins: [disabling] });
  expect(getError(await gateway.run(charge))).toMatchObject({
    code: "TOOL_DISABLED",
    message: '"bank:charge" is disabled. Not today.',
  });
});

test("a tool without annotations or a policy is treated as high risk", async () => {
  const stray = plugin("stray", {
    resolve: (call) => {
      call.tool = {
        id: "x:y",
        server: "x",
        name: "get_y",
        builtin: false,
        inputSchema: {},
        tags: [],
        enabled: true,
      };
    },
  });
  const { gateway } = await openBank({ plugins: [stray] });
  expect(getError(await gateway.run({ tool: "x:y" })).code).toBe("IDEMPOTENCY_REQUIRED");
});

test("policies of later plugins count", async () => {
  const operation = {
    method: "DELETE",
    path: "/",
    auth: "none" as const,
    examples: [],
    errors: [],
    deprecated: false,
  };
  const late = plugin(
    "late",
    { "tool:discover": (tool) => void Object.assign(tool, { operation }) },
    { order: "post" },
  );
  const { gateway } = await openBank({ plugins: [late] });
  expect(gateway.catalog.tool("bank:get_balance")?.policy?.riskLevel).toBe("destructive");
});

test("switched off, it does nothing", async () => {
  const { gateway } = await openBank({ guard: { enabled: false } });
  expect(readText(await gateway.run(charge))).toBe("done 1");
  expect(gateway.catalog.tool("bank:charge")?.policy).toBeUndefined();
});

test("its options can stand under its name at the top of a config", () => {
  expect(guard().keys).toEqual(["guard"]);
  expect(() => guard({ operations: { "a:*": { risk_level: "none" as never } } })).toThrow(GatewayError);
});
