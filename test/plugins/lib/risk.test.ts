import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Tool, ToolAnnotations } from "../../../core/mod.ts";
import { type RiskLevel, riskLevels } from "../../../core/services/policy.ts";
import { inferPolicy } from "../../../plugins/lib/risk.ts";

function tool(name: string, rest: Partial<Tool> = {}): Tool {
  return {
    id: `s:${name}`,
    server: "s",
    name,
    builtin: false,
    inputSchema: {},
    tags: [],
    enabled: true,
    ...rest,
  };
}

function operation(method: string, path: string, name: string, category?: string): Tool {
  const rest = { auth: "none" as const, examples: [], errors: [], deprecated: false };
  return tool(name, { operation: { method, path, category, ...rest } });
}

const inferRisk = (given: Tool): RiskLevel => inferPolicy(given).riskLevel;

describe("the risk of a tool by its name", () => {
  const cases: Readonly<Record<RiskLevel, readonly string[]>> = {
    low: [
      "read_file",
      "listDirectory",
      "get-user",
      "search",
      "git_status",
      "checkBalance",
      "transfer_verify",
      "get_charge",
      "describeTable",
    ],
    medium: ["create_issue", "addComment", "update-page", "set_label", "browser_click", "git_commit"],
    high: [
      "send_email",
      "charge_card",
      "transfer_funds",
      "payBill",
      "write_file",
      "execute_sql",
      "run",
      "publish",
      "approve_task",
      "postMessage",
    ],
    destructive: [
      "delete_file",
      "removeUser",
      "drop-table",
      "purge_queue",
      "cancelOrder",
      "git_reset",
      "revoke_token",
      "find_and_delete",
      "bulk_remove",
    ],
  };
  for (const [level, names] of Object.entries(cases)) {
    test.each(names)(`%s is ${level}`, (name) => expect(inferRisk(tool(name))).toBe(level));
  }

  test.each(["frobnicate", "x", "", "データ", "current_time", "get_and_charge", "query"])(
    "%j says too little, or too much, and is high",
    (name) => expect(inferRisk(tool(name))).toBe("high"),
  );
});

describe("the risk of a REST operation", () => {
  test.each([
    ["GET", "/transaction/verify/{reference}", "transaction-verify", "low"],
    ["GET", "/charge/{reference}", "charge-check", "low"],
    ["GET", "/send", "send-sms", "high"],
    ["GET", "/purge", "purge-cache", "destructive"],
    ["POST", "/transaction/initialize", "initialize-transaction", "medium"],
    ["POST", "/transaction/charge_authorization", "charge-authorization", "high"],
    ["POST", "/v1/charges", "post-charges", "high"],
    ["POST", "/v1/payment_intents/{intent}/cancel", "post-payment-intents-intent-cancel", "destructive"],
    ["POST", "/v1/customers", "post-customers", "medium"],
    ["POST", "/orders/search", "search-orders", "medium"],
    ["PUT", "/customer/{code}", "customer-update", "medium"],
    ["PATCH", "/refunds/{id}", "update-refund", "high"],
    ["DELETE", "/anything", "get-anything", "destructive"],
    ["POST", "/x", "x", "medium"],
  ])("%s %s (%s) is %s", (method, path, name, level) => {
    expect(inferRisk(operation(method, path, name))).toBe(level);
  });
});

test("each level asks for what the specification says", () => {
  const asked = (name: string): object => {
    const { riskLevel, idempotencyRequired, confirmationRequired, reversible } = inferPolicy(tool(name));
    return { riskLevel, idempotencyRequired, confirmationRequired, reversible };
  };
  const [no, yes] = [{ idempotencyRequired: false, confirmationRequired: false, reversible: true }, true];
  expect(asked("get_x")).toEqual({ riskLevel: "low", ...no });
  expect(asked("create_x")).toEqual({ riskLevel: "medium", ...no });
  expect(asked("send_x")).toEqual({ riskLevel: "high", ...no, idempotencyRequired: yes, reversible: false });
  expect(asked("delete_x")).toEqual({
    riskLevel: "destructive",
    ...no,
    confirmationRequired: yes,
    reversible: false,
  });
});

test("scopes and the rate limit come from what an operation is about", () => {
  const charge = operation("POST", "/charge", "charge", "Money In & Out");
  expect(inferPolicy(charge)).toMatchObject({
    category: "money-in-out",
    requiredScopes: ["money-in-out:write"],
    rateLimitBucket: "money-in-out_high_risk",
  });
  expect(inferPolicy(charge, { category: "payments" })).toMatchObject({
    requiredScopes: ["payments:write"],
    rateLimitBucket: "payments_high_risk",
  });
  expect(inferPolicy(tool("get_x"))).toMatchObject({ category: "s", requiredScopes: [] });
});

test("the gateway's own tools are low risk, whatever they are called", () => {
  expect(inferRisk(tool("delete_everything", { builtin: true }))).toBe("low");
});

const annotations: fc.Arbitrary<ToolAnnotations> = fc.record(
  {
    title: fc.string(),
    readOnlyHint: fc.boolean(),
    destructiveHint: fc.boolean(),
    idempotentHint: fc.boolean(),
    openWorldHint: fc.boolean(),
  },
  { requiredKeys: [] },
);
const verb = fc.constantFrom(
  "get",
  "list",
  "create",
  "update",
  "send",
  "charge",
  "delete",
  "cancel",
  "run",
  "zap",
  "and",
);
const anyTool = fc
  .record({
    name: fc.oneof(
      fc.array(verb, { minLength: 1, maxLength: 3 }).map((words) => words.join("_")),
      fc.string(),
    ),
    method: fc.option(fc.constantFrom("GET", "POST", "PUT", "PATCH", "DELETE")),
  })
  .map(({ name, method }) => (method ? operation(method, "/x", name) : tool(name)));

describe("hints of a server about its tool", () => {
  test("never lowers the risk, unless the server is trusted", () => {
    fc.assert(
      fc.property(anyTool, annotations, (given, hints) => {
        const [without, withHints] = [inferRisk(given), inferRisk({ ...given, annotations: hints })];
        expect(riskLevels.indexOf(withHints)).toBeGreaterThanOrEqual(riskLevels.indexOf(without));
      }),
    );
  });

  test("raises the risk", () => {
    expect(inferRisk(tool("get_x", { annotations: { destructiveHint: true } }))).toBe("destructive");
    expect(inferRisk(tool("get_x", { annotations: { readOnlyHint: false } }))).toBe("medium");
    expect(inferRisk(tool("get_x", { annotations: { readOnlyHint: true, destructiveHint: true } }))).toBe(
      "high",
    );
  });

  test("counts where the server is trusted", () => {
    const said = (name: string, hints: ToolAnnotations): RiskLevel =>
      inferPolicy(tool(name, { annotations: hints }), { trusted: true }).riskLevel;
    expect(said("current_time", { readOnlyHint: true })).toBe("low");
    expect(said("clear_screen", { destructiveHint: false })).toBe("high");
    expect(said("current_time", {})).toBe("high");
  });
});
