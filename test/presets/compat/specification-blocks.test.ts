import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { createJiti } from "jiti";
import * as compat from "toolpipe/anygpt";
import { describe, expect, onTestFinished, test } from "vitest";
import { compileProgram } from "../../support/compile-program.ts";
import { place } from "../../support/place.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { github, issue } from "./_github.ts";
import { findDeclarations, readBlocks, toAmbient } from "./_specification-blocks.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const engineBlocks = readBlocks("000") ?? [];
const serverBlocks = readBlocks("003") ?? [];
const blocks = [...engineBlocks, ...serverBlocks];

/** Imports a program that is written in TypeScript. */
async function load<T>(text: string): Promise<T> {
  const file = join(await temporaryFolder(), "program.mts");
  await writeFile(file, text);
  return createJiti(import.meta.url).import<T>(file);
}

describe.skipIf(blocks.length === 0)("the specifications' own blocks", () => {
  test("every class and function that they declare is exported", () => {
    const names = [
      ...findDeclarations(blocks, "class").keys(),
      ...[...findDeclarations(engineBlocks, "function").keys()],
      "PatternMatcher",
      "DEFAULT_CONFIG",
    ];
    expect(names.length).toBeGreaterThan(20);
    expect(names.filter((name) => !(name in compat))).toEqual([]);
  });

  test("values of the exported types are values of the declared ones", { timeout: 30_000 }, async () => {
    const interfaces = findDeclarations(blocks, "interface");
    const classes = findDeclarations(blocks, "class");
    const [block = ""] = serverBlocks.filter((each) => each.includes("DEFAULT_CONFIG"));
    const declared = [...interfaces.keys(), ...classes.keys()];
    const unknown = ["ConfigSource", "ValidationResult", "ToolExample"];
    const text = `
import type * as ours from "toolpipe/anygpt";
declare namespace spec {
${unknown.map((name) => `type ${name} = ours.${name};`).join("\n")}
${[...interfaces.values(), ...classes.values()].map(toAmbient).join("\n")}
}
${declared.map((name) => `export const check${name} = (value: ours.${name}): spec.${name} => value;`).join("\n")}
${["DiscoveryConfig", "ToolRule", "ToolMetadata", "SearchOptions", "CacheConfig", "MCPServerConfig"]
  .map((name) => `export const take${name} = (value: spec.${name}): ours.${name} => value;`)
  .join("\n")}
type DiscoveryConfig = ours.DiscoveryConfig;
${block.replace("const DEFAULT_CONFIG", "export const DEFAULT_CONFIG")}
export const read = (outcome: ours.ExecutionResult): number => outcome.result.issue_number;
`;
    expect(declared.length).toBeGreaterThan(20);
    expect(await compileProgram(await temporaryFolder(), text)).toBe("");
  });

  test("the default config is theirs", async () => {
    const [block = ""] = serverBlocks.filter((each) => each.includes("DEFAULT_CONFIG"));
    const theirs = await load<{ DEFAULT_CONFIG: unknown }>(`type DiscoveryConfig = object;\nexport ${block}`);
    expect(compat.DEFAULT_CONFIG).toEqual(theirs.DEFAULT_CONFIG);
  });

  test("relevance and rules are computed as their functions do", async () => {
    const functions = findDeclarations(engineBlocks, "function");
    const own = ["calculateRelevance", "applyToolRules"].map((name) => `export ${functions.get(name)}`);
    const theirs = await load<Pick<typeof compat, "calculateRelevance" | "applyToolRules">>(`
import { matchPattern } from ${JSON.stringify(join(root, "presets/compat/patterns.ts"))};
type ToolMetadata = any; type ToolRule = any;
${own.join("\n")}`);
    const word = fc.constantFrom("create", "issue", "delete", "list", "repos");
    const name = fc.array(word, { minLength: 1, maxLength: 3 }).map((words) => words.join("_"));
    const tool = fc.record({
      server: fc.constantFrom("github", "jira"),
      name,
      summary: fc.array(word).map((words) => words.join(" ")),
      enabled: fc.constant(true),
      tags: fc.uniqueArray(word, { maxLength: 2 }),
    });
    const query = fc.array(word, { minLength: 1, maxLength: 3 }).map((words) => words.join(" "));
    fc.assert(
      fc.property(tool, query, (each, text) => {
        expect(compat.calculateRelevance(each, text)).toBeCloseTo(theirs.calculateRelevance(each, text), 9);
      }),
    );
    // With one deciding rule: with several, their loop lets a later rule decide what an earlier one left at the default.
    const rule = fc.record({
      pattern: fc.uniqueArray(fc.constantFrom("*issue*", "/^delete_/", "list_*", "create_issue"), {
        minLength: 1,
      }),
      enabled: fc.boolean(),
      tags: fc.uniqueArray(word),
    });
    fc.assert(
      fc.property(fc.array(tool), rule, (tools, one) => {
        expect(compat.applyToolRules(tools, [one])).toEqual(theirs.applyToolRules(tools, [one]));
      }),
    );
  });

  test("patterns match as in their function, apart from exclusions, which count wherever they stand", async () => {
    const functions = findDeclarations(engineBlocks, "function");
    const theirs = await load<Pick<typeof compat, "matchPattern">>(`
import { matchSinglePattern } from ${JSON.stringify(join(root, "presets/compat/patterns.ts"))};
export ${functions.get("matchPattern")}`);
    const name = fc.constantFrom("create_issue", "delete_issue", "list_repos", "github_user");
    const pattern = fc.constantFrom("*issue*", "github_*", "/^create_/", "/repos?$/", "list_?epos");
    fc.assert(
      fc.property(name, fc.array(pattern), fc.array(pattern), (tool, excluded, included) => {
        const patterns = [...excluded.map((each) => `!${each}`), ...included];
        // A list of exclusions alone is all but those, where theirs is nothing.
        fc.pre(included.length > 0);
        expect(compat.matchPattern(tool, patterns)).toBe(theirs.matchPattern(tool, patterns));
      }),
    );
  });

  test("their handlers run on the engine", { timeout: 30_000 }, async () => {
    await place();
    const engine = new compat.DiscoveryEngine({
      enabled: true,
      cache: { enabled: false, ttl: 3600 },
      servers: [{ name: "github", connection: { type: "stdio", ...github } }],
    });
    onTestFinished(() => engine.close());
    const handlers = [...findDeclarations(serverBlocks, "function").entries()];
    expect(handlers.map(([name]) => name)).toHaveLength(5);
    const program = `
type ToolResponse = { content: { type: string; text: string }[] };
export default (engine: import("toolpipe/anygpt").DiscoveryEngine) => {
${handlers.map(([, text]) => text).join("\n")}
return { ${handlers.map(([name]) => name).join(", ")} };
};`;
    expect(await compileProgram(await temporaryFolder(), program)).toBe("");
    type Handler = (args?: object) => Promise<{ content: { text: string }[] }>;
    const { default: create } = await load<{ default: (given: object) => Record<string, Handler> }>(program);
    const run = create(engine);
    const ask = async (name: string, args?: object): Promise<unknown> =>
      JSON.parse((await run[name]?.(args))?.content[0]?.text ?? "");
    const target = { server: "github", tool: "create_issue" };
    expect(await ask("handleSearchTools", { query: "create issue", limit: 0 })).toMatchObject([target]);
    expect(await ask("handleListServers")).toMatchObject([{ name: "github", enabledCount: 3 }]);
    expect(await ask("handleListTools", { server: "github" })).toMatchObject({
      server: "github",
      tools: [{ name: "create_issue" }, {}, {}],
    });
    expect(await ask("handleGetToolDetails", target)).toMatchObject({ name: "create_issue" });
    await expect(run["handleGetToolDetails"]?.({ server: "github", tool: "x" })).rejects.toThrow(
      "Tool not found: github:x",
    );
    const given = { repo: "owner/repo", title: "Bug report" };
    expect(await ask("handleExecuteTool", { ...target, arguments: given })).toEqual(issue);
    await expect(run["handleExecuteTool"]?.({ ...target, arguments: {} })).rejects.toThrow(
      /^Tool execution failed: /,
    );
  });
});
