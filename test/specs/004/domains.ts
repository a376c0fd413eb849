import { expect } from "vitest";
import {
  inferCategories,
  inferDomains,
  primaryDomain,
  subDomain,
} from "../../../plugins/discovery/domains/mod.ts";
import type { Specification } from "../specification.ts";
import { startServer } from "./server.ts";
import { remote, world } from "./world.ts";

/** Lines 215 to 259: domains and categories. */
export function domainRows({ row, prose }: Specification): void {
  prose(215, 219, 222, 229, 236, 241, 254);

  row("223-224", "The domain of the server modelcontextprotocol/github is github.", () => {
    expect(primaryDomain("modelcontextprotocol/github")).toBe("github");
  });
  row("226-227", "The domain of the server aws-s3-server is cloud.aws.", () => {
    expect(primaryDomain("aws-s3-server")).toBe("cloud.aws");
  });
  row("230-231", "The subject of list_issues is issues.", () => {
    expect(subDomain("list_issues")).toBe("issues");
  });
  row("233-234", "The subject of get_pull_request is pull_requests: its object, in the plural.", () => {
    expect(subDomain("get_pull_request")).toBe("pull_requests");
  });
  row("237-238", "The domains of a tool are that of its server, and its subject within.", () => {
    expect(inferDomains("github", "list_issues")).toEqual(["github", "github.issues"]);
  });
  row("244-245", "list_issues reads.", () => {
    expect(inferCategories("list_issues")).toEqual(["crud.read"]);
  });
  row("247-248", "create_issue creates.", () => {
    expect(inferCategories("create_issue")).toEqual(["crud.create"]);
  });
  row("250-251", "search_code reads, and searches.", () => {
    expect(inferCategories("search_code")).toEqual(["crud.read", "search"]);
  });
  row(
    "257-259",
    "The manifest of a tool has domains and categories inferred from the server's name.",
    async () => {
      const tool = { name: "get_pull_request", inputSchema: { type: "object" } };
      const server = await startServer({ tools: [tool] });
      const config = remote("modelcontextprotocol/github", server.url);
      const expected = { domains: ["github", "github.pull_requests"], categories: ["crud.read"] };
      expect(world.service.toolToManifest(tool, config)).toMatchObject(expected);
      const [found] = await world.service.discoverTools(config);
      expect(world.service.toolToManifest(found ?? tool, config)).toMatchObject(expected);
    },
  );
}
