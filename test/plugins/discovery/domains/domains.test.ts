import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createGateway } from "../../../../core/mod.ts";
import {
  domains,
  inferDomains,
  primaryDomain,
  subDomain,
} from "../../../../plugins/discovery/domains/mod.ts";

describe("the domain of a server", () => {
  test.each([
    ["modelcontextprotocol/github", "github"],
    ["aws-s3-server", "cloud.aws"],
    ["github", "github"],
    ["@modelcontextprotocol/server-slack", "communication.slack"],
    ["io.github.acme/weather", "weather"],
    ["com.stripe/mcp", "payment.stripe"],
    ["azure__mcp", "cloud.azure"],
    ["mcp-google-analytics", "analytics.google"],
    ["Google Cloud Storage", "cloud.gcp"],
    ["postgres", "database.postgres"],
    ["shrimp-task-manager", "shrimp_task_manager"],
    ["天気", "天気"],
    ["mcp-server", "general"],
    ["../..", "general"],
    ["", "general"],
  ])("%j is %j", (name, domain) => {
    expect(primaryDomain(name)).toBe(domain);
  });
});

describe("what a tool is about", () => {
  test.each([
    ["list_issues", "issues"],
    ["get_pull_request", "pull_requests"],
    ["create_issue", "issues"],
    ["search_code", "code"],
    ["getIssueById", "issues"],
    ["VPS_deleteFirewallRuleV1", "firewall_rules"],
    ["search_index_get", "search_indexes"],
    ["create_or_update_file", "files"],
    ["billing_getSubscriptionListV1", "subscriptions"],
    ["get-repository", "repositories"],
    ["list_branches_for_repo", "branches"],
    ["search", undefined],
    ["", undefined],
  ])("of %j is %j", (name, domain) => {
    expect(subDomain(name)).toBe(domain);
  });

  test.each([
    ["github", "list_issues", ["github", "github.issues"]],
    ["slack", "slack_post_message", ["communication.slack", "communication.slack.messages"]],
    ["github", "search", ["github"]],
  ])("of the server %j with the tool %j is %j", (server, tool, found) => {
    expect(inferDomains(server, tool)).toEqual(found);
  });

  test("is found for any name, and is short", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 3_000 }), fc.string({ unit: "binary", maxLength: 300 }), (a, b) => {
        const [primary = "", sub] = inferDomains(a, b);
        expect(primary).toMatch(/^[\p{L}\p{M}\p{N}_.]+$/u);
        expect(sub === undefined || sub.startsWith(`${primary}.`)).toBe(true);
        expect(primary.length).toBeLessThanOrEqual(210);
        expect(inferDomains(a, b)).toEqual(inferDomains(a, b));
      }),
    );
  });
});

test("the plugin adds domains and categories to the tags", async () => {
  const gateway = await createGateway({ plugins: [domains()] });
  try {
    const tool = { name: "list_issues", inputSchema: { type: "object" } };
    await gateway.catalog.replace({ id: "github" }, [tool]);
    expect(gateway.catalog.tool("github:list_issues")?.tags).toEqual([
      "github",
      "github.issues",
      "crud.read",
    ]);
  } finally {
    await gateway.close();
  }
});
