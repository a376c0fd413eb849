import { describe, expect, test } from "vitest";
import type { Tool } from "../../../core/mod.ts";
import { createOverride } from "../../../plugins/guard/policies.ts";
import { inferPolicy } from "../../../plugins/lib/risk.ts";

function tool(name: string, rest: Partial<Tool> = {}): Tool {
  const id = `s:${name}`;
  return { id, server: "s", name, builtin: false, inputSchema: {}, tags: [], enabled: true, ...rest };
}

describe("the policies of a config", () => {
  const override = createOverride({
    "s:*": { required_scopes: ["s"], risk_level: "medium" },
    "s:delete_*": { risk_level: "high", retry_safe: true },
    "s:delete_draft": { idempotency_required: false, rate_limit_bucket: "drafts", category: "notes" },
  });
  const policy = (name: string): object => override(tool(name), inferPolicy(tool(name)));

  test("goes before what was inferred, and the later pattern before the earlier", () => {
    expect(policy("get_x")).toMatchObject({ riskLevel: "medium", requiredScopes: ["s"], retrySafe: false });
    expect(policy("delete_x")).toMatchObject({
      riskLevel: "high",
      idempotencyRequired: true,
      confirmationRequired: false,
      retrySafe: true,
    });
    expect(policy("delete_draft")).toMatchObject({
      riskLevel: "high",
      idempotencyRequired: false,
      rateLimitBucket: "drafts",
      category: "notes",
      requiredScopes: ["s"],
    });
  });

  test("leaves other operations as they are", () => {
    const other = tool("delete_x", { id: "t:delete_x", server: "t" });
    expect(override(other, inferPolicy(other))).toMatchObject({
      ...inferPolicy(other),
      retrySafe: false,
    });
  });
});
