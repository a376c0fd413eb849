import { expect, test } from "vitest";
import { createGateway } from "../../../core/mod.ts";
import { domains } from "../../../plugins/discovery/domains/mod.ts";
import { search } from "../../../plugins/search/mod.ts";

test("the plugin adds domains and categories to the tags, where a search finds them", async () => {
  const gateway = await createGateway({ plugins: [domains(), search({ ranker: "tag" })] });
  try {
    const tool = { name: "list_issues", inputSchema: { type: "object" } };
    await gateway.catalog.replace({ id: "github" }, [tool]);
    expect(gateway.catalog.tool("github:list_issues")?.tags).toEqual([
      "github",
      "github.issues",
      "crud.read",
    ]);
    const found = await gateway.services.search?.("crud read");
    expect(found?.hits.map((hit) => hit.tool.id)).toEqual(["github:list_issues"]);
  } finally {
    await gateway.close();
  }
});
