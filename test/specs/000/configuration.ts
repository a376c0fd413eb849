import {
  ConfigurationError,
  ConfigurationLoader,
  DEFAULT_CONFIG,
  type DiscoveryConfig,
  type ExecutionResult,
  type ToolRule,
} from "toolpipe/anygpt";
import { expect } from "vitest";
import type { Specification } from "../specification.ts";
import { servers, toEntries } from "../stage.ts";
import { findTypeFaults } from "./types.ts";
import { config, openEngine, toNames, tool, world, writeProject } from "./world.ts";

const loader = new ConfigurationLoader();

/** Checks a config that the compiler would refuse. */
const check = (given: unknown) => loader.validate(given as DiscoveryConfig);

/** Lines 1 to 51: overview, and the loader of the config. Lines 531 to 551: its tasks. */
export function configurationRows({ row, added, differs, prose }: Specification): void {
  prose("1-5", 7, 13, 15, 17, 21, 27, 49, 531, 533, 535, 537, 545);

  row(
    "9",
    "One engine searches, filters, caches and executes, for servers whose tools the agent never loaded.",
    async () => {
      const [found] = await world.engine.searchTools("create github issue");
      expect(found).toMatchObject({ server: "github", tool: "create_issue" });
      expect(toNames(await world.engine.listTools("github"))).not.toContain("delete_repo");
      const outcome: ExecutionResult = await world.engine.executeTool("github", "list_repos", {});
      expect(outcome).toEqual({ success: true, result: { repos: ["a", "b"] } });
    },
  );

  row("19, 22, 538-539, 546", "load() reads the section discovery of an anygpt.config.ts.", async () => {
    expect(await loader.load()).toEqual(config);
    const path = await writeProject("other.config.ts", `export default { discovery: { enabled: false } };`);
    expect(await loader.load(path)).toMatchObject({ enabled: false, servers: [] });
    await expect(loader.load("nowhere.config.ts")).rejects.toThrow(ConfigurationError);
  });

  row(
    "23, 59",
    "Rules of a loaded config are applied with their globs and regular expressions.",
    async () => {
      const rules: ToolRule[] = [{ pattern: ["/^DELETE_/i", "*update*"], enabled: false }];
      const section = { servers: toEntries(["github"]), toolRules: rules };
      const path = await writeProject(
        "rules.config.ts",
        `export default { discovery: ${JSON.stringify(section)} };`,
      );
      const engine = openEngine(await loader.load(path));
      expect(toNames(await engine.listTools("github"))).toEqual(["create_issue", "list_repos"]);
    },
  );

  row(
    "24, 45, 542",
    "validate() accepts a config that can be used, and says what is wrong with any other.",
    () => {
      expect(check(config)).toEqual({ valid: true, errors: [] });
      const wrong: readonly (readonly [given: unknown, part: string])[] = [
        [null, "Object"],
        [[], "Object"],
        [{ enabled: "false" }, "enabled"],
        [{ enabled: 0 }, "enabled"],
        [{ enabled: true, cache: { enabled: "no", ttl: 1 } }, "cache.enabled"],
        [{ enabled: true, cache: { enabled: true, ttl: -1 } }, "ttl"],
        [{ enabled: true, sources: {} }, "sources"],
        [{ enabled: true, sources: [{ type: "nothing" }] }, "name of a client"],
        [{ enabled: true, servers: [{}] }, "servers.0.name"],
        [{ enabled: true, toolRules: [5] }, "toolRules.0"],
        [{ enabled: true, toolRules: [{}] }, "toolRules.0.pattern"],
        [{ enabled: true, toolRules: [{ pattern: "*" }] }, "toolRules.0.pattern"],
        [{ enabled: true, toolRules: [{ pattern: [] }] }, "toolRules.0.pattern"],
        [{ enabled: true, toolRules: [{ pattern: ["/(/"] }] }, '"/(/" of rule 1'],
        [{ enabled: true, toolRules: [{ pattern: ["*"], enabled: "false" }] }, "toolRules.0.enabled"],
        [{ enabled: true, toolRules: [{ pattern: ["*"], server: 5 }] }, "toolRules.0.server"],
        [{ enabled: true, toolRules: [{ pattern: ["*"], tags: "x" }] }, "toolRules.0.tags"],
        [{ enabled: true, toolRules: [{ pattern: ["*"], tag: "x" }] }, "toolRules.0.tag"],
        [{ enabled: true, toolrules: [] }, "toolrules"],
      ];
      for (const [given, part] of wrong) {
        const { valid, errors } = check(given);
        expect([JSON.stringify(given), valid, errors]).toEqual([
          JSON.stringify(given),
          false,
          [expect.stringContaining(part)],
        ]);
      }
    },
  );

  row("25", "Without a file the config has defaults that work.", async () => {
    process.chdir(world.home);
    const defaults = await loader.load().finally(() => process.chdir(world.project));
    expect(defaults).toEqual(DEFAULT_CONFIG);
    expect(defaults).toEqual({
      enabled: true,
      cache: { enabled: true, ttl: 3600 },
      sources: [],
      toolRules: [],
    });
    expect(await openEngine(defaults).listServers()).toEqual([]);
  });

  row(
    "29-34, 538",
    "A config has enabled, cache, sources and toolRules, of which only the first is needed.",
    async () => {
      expect(await findTypeFaults("DiscoveryConfig")).toEqual([]);
      expect(openEngine({ enabled: true }).getConfig()).toMatchObject({
        cache: { enabled: true, ttl: 3600 },
        sources: [],
        toolRules: [],
      });
    },
  );

  row("30", "A config that is not enabled has no servers.", async () => {
    expect(await openEngine({ ...config, enabled: false }).listServers()).toEqual([]);
  });

  row("32", "Servers come from the files that sources names.", async () => {
    const { command, args } = servers.github;
    const path = await writeProject(
      "client.json",
      JSON.stringify({ mcpServers: { hub: { command, args } } }),
    );
    const engine = openEngine({ enabled: true, sources: [{ type: "claude-desktop", path }] });
    expect(await engine.listServers()).toMatchObject([{ name: "hub", toolCount: 4 }]);
  });

  row("36-41", "A rule has patterns, and may name a server, a decision and tags.", async () => {
    expect(await findTypeFaults("ToolRule")).toEqual([]);
    const rules: ToolRule[] = [
      { server: "github", pattern: ["list_*"], enabled: true, tags: ["read"] },
      { pattern: ["list_*"] },
    ];
    const engine = openEngine({ enabled: true, servers: toEntries(["github", "limited"]), toolRules: rules });
    expect(await engine.listTools("github")).toMatchObject([{ name: "list_repos", tags: ["read"] }]);
    expect(await engine.listTools("limited")).toEqual([]);
  });

  row(
    "43-46",
    "ConfigurationLoader loads from a path or from where configs are, and validates.",
    async () => {
      expect(await findTypeFaults("ConfigurationLoader")).toEqual([]);
      const loaded = await loader.load(`${world.project}/anygpt.config.ts`);
      expect(loaded).toEqual(await loader.load());
      expect(loader.validate(loaded).valid).toBe(true);
    },
  );

  row(
    "50, 472",
    "A config that imports config from @anygpt/config, or imports nothing, is loaded.",
    async () => {
      const section = JSON.stringify({
        discovery: { enabled: true, toolRules: [{ pattern: ["a"], tags: ["b"] }] },
      });
      const imported = `import { config } from "@anygpt/config";\nexport default config(${section});`;
      for (const text of [imported, `export default config(${section});`]) {
        const path = await writeProject("imports.config.ts", text);
        expect((await loader.load(path)).toolRules).toEqual([{ pattern: ["a"], tags: ["b"] }]);
      }
    },
  );

  const ownTypes =
    "The types come with the package, from toolpipe/anygpt; a config may still import types by that name, since imports of types are dropped.";
  differs("51, 473", "Types come from the package @anygpt/types.", ownTypes, async () => {
    const text = `import type { DiscoveryConfig } from "@anygpt/types";
const discovery: DiscoveryConfig = { enabled: true, toolRules: [{ pattern: ["a"], tags: ["b"] }] };
export default { discovery };`;
    const path = await writeProject("types.config.ts", text);
    expect((await loader.load(path)).toolRules).toHaveLength(1);
    expect(await findTypeFaults("DiscoveryConfig", "ToolRule", "ToolMetadata")).toEqual([]);
  });

  added(
    "36-45",
    "A rule of a wrong shape is refused wherever rules are taken, and enables nothing.",
    "A rule whose field has the wrong type would otherwise enable what it was to disable.",
    async () => {
      const { applyToolRules, ToolMetadataManager } = await import("toolpipe/anygpt");
      const wrong = [{ pattern: ["*"], enabled: "false" }] as unknown as ToolRule[];
      expect(() => applyToolRules([tool("a")], wrong)).toThrow(ConfigurationError);
      expect(() => new ToolMetadataManager().applyRules(wrong)).toThrow(ConfigurationError);
      expect(() => openEngine({ enabled: true, toolRules: wrong })).toThrow(/toolRules\.0\.enabled/);
    },
  );
}
