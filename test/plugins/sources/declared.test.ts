import { expect, test } from "vitest";
import { openGateway } from "../../../plugins/cli/context.ts";
import { faulty, place } from "../../support/place.ts";
import { runMain } from "../../support/run-cli.ts";

const yaml = (args: readonly string[]): string => `servers:
  github:
    name: 'GitHub MCP Server'
    connection:
      type: stdio
      command: node
      args: ${JSON.stringify(args)}
    tools:
      - name: create_issue
        description: Create a GitHub issue
      - name: list_repos
`;

test("a custom file keeps name and tools until the server has been asked", async () => {
  const { args } = faulty() as { args: string[] };
  await place({
    project: {
      "toolpipe.config.json": { sources: [{ type: "custom", path: "./servers.yaml" }] },
      "servers.yaml": yaml(args),
    },
  });
  const before = await openGateway({ config: "toolpipe.config.json" }, async ({ catalog }) => ({
    server: catalog.server("github"),
    tools: catalog.tools("github").map(({ name, description }) => [name, description]),
  }));
  expect(before.server).toMatchObject({ title: "GitHub MCP Server", description: "GitHub MCP Server" });
  expect(before.tools).toEqual([
    ["create_issue", "Create a GitHub issue"],
    ["list_repos", ""],
  ]);
  expect((await runMain(["search", "create github issue"])).stdout).toContain("1. github:create_issue");
  expect((await runMain(["tools", "github"])).stdout).toContain("✓ echo");
  const after = await openGateway({ config: "toolpipe.config.json" }, async ({ catalog }) =>
    catalog.tools("github").map(({ name }) => name),
  );
  expect(after).not.toContain("create_issue");
});
