import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Tool, ToolAnnotations } from "../../../core/mod.ts";
import { type RiskLevel, riskLevels } from "../../../core/services/policy.ts";
import { inferPolicy } from "../../../plugins/lib/risk.ts";
import { type RealTool, realCatalog } from "../../support/real-catalog.ts";

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
      "checkBalance",
      "get_charge",
      "describeTable",
      "get_pull_request",
      "list_issues",
      "get_release",
      "getPullRequestComments",
      "sheets_get_values",
      "hosting_listWordPressInstallationsV1",
      "get_deleted_users",
      "list_dropdowns",
      "query_docs",
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
      "get_rid_of_users",
      "list_dropdb",
      "drop_schema",
      "fetch_and_delete",
    ],
  };
  for (const [level, names] of Object.entries(cases)) {
    test.each(names)(`%s is ${level}`, (name) => expect(inferRisk(tool(name))).toBe(level));
  }

  test.each(["frobnicate", "x", "", "データ", "current_time", "get_and_charge", "query"])(
    "%j says too little, or too much, and is high",
    (name) => expect(inferRisk(tool(name))).toBe("high"),
  );

  test.each([
    ...["push_schema", "wire_funds_overview", "resolve_incident", "check_out", "checkIn", "sync_status"],
    ...["find_and_replace", "find_or_create", "read_write_file", "show_hidden_files", "get_and_frobnicate"],
    ...["git_status", "transfer_verify", "frobnicate_list", "frobnicate_get_users", "server_health"],
    ...["query_database", "run_soql_query", "download_file", "export_notes", "git_fetch", "list_deleteall"],
    ...[
      "scan_to_email",
      "translate_to_post",
      "check_fix",
      "inspect_alter_table",
      "verify_accept",
      "find_undo",
    ],
    ...["list_userdelete", "get_d\u0435lete", `get_${"x".repeat(41)}`, "list\u200b_users"],
  ])("%j is not low", (name) => expect(inferRisk(tool(name))).not.toBe("low"));

  test("the name of its server may stand before the verb, and no unknown word may", () => {
    expect(inferRisk(tool("acme_get_users", { server: "acme-mcp" }))).toBe("low");
    expect(inferRisk(tool("acme_get_users"))).toBe("high");
    expect(inferRisk(tool("wipe_get_users", { server: "wipe" }))).toBe("destructive");
  });

  const word = fc.stringMatching(/^[a-z]{3,10}$/);
  const writing = fc.constantFrom(
    ...["delete", "remove", "drop", "send", "pay", "write", "create", "set", "replace", "execute", "revoke"],
  );

  test("is never low with a verb that only writes, wherever that stands", () => {
    fc.assert(
      fc.property(fc.array(word), writing, fc.array(word), (before, verb, after) => {
        for (const lead of [[], ["get"], ["list"]]) {
          expect(inferRisk(tool([...lead, ...before, verb, ...after].join("_")))).not.toBe("low");
        }
      }),
    );
  });

  test("is never low where no reading verb leads", () => {
    fc.assert(
      fc.property(
        fc.constantFrom("schema", "status", "metadata", "overview", "health"),
        word,
        (noun, first) => {
          fc.pre(inferRisk(tool(first)) !== "low");
          expect(inferRisk(tool(`${first}_${noun}`))).not.toBe("low");
        },
      ),
    );
  });
});

describe("the risk of a REST operation", () => {
  test.each([
    ["GET", "/transaction/verify/{reference}", "transaction-verify", "low"],
    ["GET", "/charge/{reference}", "charge-check", "low"],
    ["GET", "/send", "send-sms", "high"],
    ["GET", "/purge", "purge-cache", "destructive"],
    ["GET", "/cookies/delete", "get-cookies-delete", "destructive"],
    ["GET", "/bank/resolve", "bank-resolve", "low"],
    ["GET", "/status", "status", "low"],
    ["POST", "/plans/{id}/migrate", "get-plan", "high"],
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

const catalog = realCatalog();
describe.runIf(catalog.length > 0)("the risk of the tools of real servers, by name alone", () => {
  const byName = ({ name }: RealTool): RiskLevel => inferRisk(tool(name));

  test("at most 15 % of those that say they read are not low", () => {
    const read = catalog.filter(({ annotations: hints }) => hints?.readOnlyHint === true);
    const missed = read.filter((one) => byName(one) !== "low");
    expect(missed.length / read.length, `${missed.length} of ${read.length}`).toBeLessThanOrEqual(0.15);
  });

  test("of those that say they write, only such are low whose names say that they read", () => {
    const writes = catalog.filter(
      ({ annotations: hints }) => hints?.readOnlyHint === false || hints?.destructiveHint === true,
    );
    // Most of these have the hint by default; the others write beside what their names say.
    expect(writes.filter((one) => byName(one) === "low").map(({ name }) => name)).toEqual([
      "get_network_request",
      "find_flaky_tests",
      "hosting_verifyDomainOwnershipV1",
      "hosting_detectWordPressInstallationsV1",
      "excel_describe_sheets",
      "excel_read_sheet",
      "API-query-data-source",
      "preview_prices",
      "preview_subscription_update",
      "preview_subscription_charge",
      "retrieve_metadata",
      "list_tables",
    ]);
  });
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
