import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type LoadedConfig, loadConfig } from "../../../core/mod.ts";
import { projectFiles, selectConfig, userFiles } from "../../../plugins/cli/config-files.ts";
import { presets } from "../../../presets/mod.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const section = (server: string): string =>
  `{ discovery: { enabled: true, cache: { enabled: true, ttl: 60 }, servers: [{ name: "${server}", description: "d", connection: { type: "stdio", command: "npx", args: [] } }], toolRules: [{ pattern: ["*"], enabled: true }] }, providers: { ours: "not" } }`;

async function load(files: Record<string, string>, file?: string): Promise<LoadedConfig & { home: string }> {
  const home = await temporaryFolder(files);
  const cwd = join(home, "project");
  const machine = { platform: "linux" as const, home, env: {}, project: cwd };
  const otherFiles = [...projectFiles(cwd), ...userFiles(machine)];
  return { ...(await loadConfig({ presets, cwd, file, otherFiles, select: selectConfig })), home };
}

const names = ({ settings }: LoadedConfig): unknown =>
  (settings?.["sources"] as { servers?: { name: string }[] } | undefined)?.servers?.map(({ name }) => name);

const files = {
  "project/.anygpt/mcp-discovery.config.ts": `export default ${section("project")};`,
  "project/anygpt.config.ts": `export default ${section("section")};`,
  ".anygpt/mcp-discovery.config.ts": `export default ${section("person")};`,
};

describe("the files of the AnyGPT specification", () => {
  test("are looked for in its order, and after our own", async () => {
    const { "project/.anygpt/mcp-discovery.config.ts": _first, ...second } = files;
    const { "project/anygpt.config.ts": _second, ...third } = second;
    expect(names(await load(files))).toEqual(["project"]);
    expect(names(await load(second))).toEqual(["section"]);
    expect(names(await load({ ...third, "project/x": "" }))).toEqual(["person"]);
    const own = { ...files, "project/toolpipe.config.json": '{ "servers": [] }' };
    expect(names(await load(own))).toEqual([]);
  });

  test("give their rules and their cache to the plugins", async () => {
    const { settings, configFile, home } = await load(files);
    expect(configFile).toBe(join(home, "project/.anygpt/mcp-discovery.config.ts"));
    expect(settings?.["rules"]).toEqual({ toolRules: [{ pattern: ["*"], enabled: true }] });
    expect(settings?.["cache"]).toEqual({ enabled: true, ttl: 60 });
  });

  test("may stand without the section around it, except in a config that is not only ours", async () => {
    const bare = "export default { servers: [] };";
    expect(names(await load({ "project/.anygpt/mcp-discovery.config.ts": bare }))).toEqual([]);
    expect((await load({ "project/anygpt.config.ts": bare })).configFile).toBeUndefined();
  });

  test("that switch discovery off leave nothing to serve", async () => {
    const off = section("x").replace("enabled: true, cache", "enabled: false, cache");
    const config = await load({ "project/anygpt.config.ts": `export default ${off};` });
    expect(names(config)).toBeUndefined();
    expect(config.configFile).toBeDefined();
  });

  test.each(["'false'", "0", "null", "[]"])(
    "refuse %s in place of true or false, of the section and of a server",
    async (value) => {
      const of = (text: string) =>
        load({ "project/anygpt.config.ts": `export default { discovery: ${text} };` });
      await expect(of(`{ enabled: ${value} }`)).rejects.toThrow(
        "anygpt.config.ts: discovery.enabled: expected true or false, found",
      );
      await expect(of(`{ servers: [{ name: "x", enabled: ${value} }] }`)).rejects.toThrow(
        "servers.0.enabled: expected true or false",
      );
      await expect(of(`{ mcpServers: { x: { command: "x", enabled: ${value} } } }`)).rejects.toThrow(
        "mcpServers.x.enabled: expected true or false",
      );
      await expect(of(`{ mcpServers: { x: { command: "x", disabled: ${value} } } }`)).rejects.toThrow(
        "mcpServers.x.disabled: expected true or false",
      );
    },
  );

  test("may have options and plugins beside the section and in it", async () => {
    const { settings, plugins } = await load({
      "project/anygpt.config.ts": `export default {
        options: { timeout: { ms: 1 }, answers: { waitMs: 5 } },
        plugins: ["./beside.ts"],
        discovery: { options: { timeout: { ms: 2 } }, plugins: ["./within.ts"] },
      };`,
      "project/beside.ts": `export default { name: "beside", setup() {} };`,
      "project/within.ts": `export default { name: "within", setup() {} };`,
    });
    expect(settings).toMatchObject({ timeout: { ms: 2 }, answers: { waitMs: 5 } });
    expect(plugins?.map(({ name }) => name)).toEqual(["beside", "within"]);
    await expect(
      load({ "project/anygpt.config.ts": "export default { options: { timout: {} }, discovery: {} };" }),
    ).rejects.toThrow('options.timout: there is no plugin of this name; did you mean "timeout"?');
  });

  test.each([
    ["an import of its package", `import { config } from "@anygpt/config";\nexport default config(SECTION);`],
    ["no import at all", "// the config of this project\nexport default config(SECTION);"],
    [
      "no import, but a comment about one",
      "// We import servers of clients; the config has rules.\nconst own = config(SECTION);\nexport default own;",
    ],
    [
      "names of the specifications",
      `import { DEFAULT_CONFIG } from "toolpipe/anygpt";\nexport default { ...DEFAULT_CONFIG, ...SECTION };`,
    ],
    ["defineConfig", `import { defineConfig } from "toolpipe";\nexport default defineConfig(SECTION);`],
  ])("may be written with %s", async (_how, text) => {
    const config = text.replace("SECTION", section("mine"));
    expect(names(await load({ "project/anygpt.config.ts": config }))).toEqual(["mine"]);
  });

  test.each([
    ["discovery: { options: { timeout: { ms: 'x' } } }", "discovery.options.timeout.ms: expected number"],
    ["discovery: {}, options: { timeout: { ms: 'x' } }", "wrong option: options.timeout.ms: expected number"],
    ["discovery: { options: { timeoutt: {} } }", "discovery.options.timeoutt: there is no plugin"],
    [
      "discovery: { timeout: { ms: 5 } }",
      'discovery.timeout: there is no such option; did you mean "discovery.options.timeout"?',
    ],
    ["discovery: { limits: { x: 1 } }", "discovery.limits.x: there is no such option"],
    ["discovery: {}, limits: { x: 1 }", ": limits.x: there is no such option"],
    ["discovery: { plugins: ['./no.ts'] }", 'discovery.plugins.0: "./no.ts" could not be loaded'],
    ["discovery: { plugins: [] }, plugins: ['./no.ts']", ': plugins.0: "./no.ts" could not be loaded'],
    [
      "discovery: { toolRules: [{ pattern: ['*'], enabled: 'false' }] }",
      "discovery.toolRules.0.enabled: expected true or false, found a string",
    ],
    ["discovery: { cache: { enabled: 0 } }", "discovery.cache.enabled: expected true or false, found 0"],
    [
      "discovery: { servers: [{ name: 'a', enabled: [], connection: { type: 'stdio', command: 'x' } }] }",
      "discovery.servers.0.enabled: expected true or false",
    ],
  ])("have faults that are named by the path that works: %s", async (text, message) => {
    await expect(load({ "project/anygpt.config.ts": `export default { ${text} };` })).rejects.toThrow(
      message,
    );
  });

  test("can be named", async () => {
    expect(names(await load(files, "anygpt.config.ts"))).toEqual(["section"]);
    await expect(
      load({ "project/anygpt.config.ts": "export default {};" }, "anygpt.config.ts"),
    ).rejects.toThrow("the file has no config");
  });
});
