import { describe, expect, onTestFinished, test, vi } from "vitest";
import { place } from "../../support/place.ts";
import { runMain } from "../../support/run-cli.ts";

/** Writes a config with a plugin of this source, and the plugin `demo`. */
async function placePlugin(source: string, config: object = {}): Promise<void> {
  await place({
    project: {
      "own.ts": `import { definePlugin, definePreset } from "toolpipe";\n${source}`,
      "toolpipe.config.json": {
        preset: "passthrough",
        plugins: ["toolpipe/plugins/demo", "./own.ts"],
        ...config,
      },
    },
  });
}

function setLogLevel(level: string): void {
  vi.stubEnv("LOG_LEVEL", level);
  onTestFinished(() => void vi.unstubAllEnvs());
}

const add = ["execute", "demo", "add", "--args", '{"a":1,"b":2}'];

/** A plugin that throws in one of its hooks, or in its setup. */
const throwing = (hook: string): string =>
  hook === "setup"
    ? `export const own = definePlugin({ name: "own", setup() { throw new Error("broken here"); } });`
    : `export const own = definePlugin({ name: "own", setup: () => ({ "${hook}"() { throw new Error("broken here"); } }) });`;

describe("a plugin that throws", () => {
  test.each(["setup", "ready", "start", "policy", "audit", "catalog:change"])(
    "in %s is printed with its cause and stack with --trace",
    async (hook) => {
      await placePlugin(throwing(hook));
      const { stderr } = await runMain([...add, "--trace"]);
      expect(stderr).toContain('The plugin "own"');
      expect(stderr).toMatch(/caused by Error: broken here\n\s+at .*own\.ts/);
    },
  );

  test.each(["setup", "ready", "policy", "audit"])(
    "in %s is printed with its cause and stack at debug level",
    async (hook) => {
      setLogLevel("debug");
      await placePlugin(throwing(hook));
      const { stderr } = await runMain(add);
      expect(stderr).toMatch(/caused by Error: broken here\n\s+at .*own\.ts/);
    },
  );

  test.each(["setup", "ready"])(
    "in %s is named with its message, without a stack otherwise",
    async (hook) => {
      await placePlugin(throwing(hook));
      const { code, stderr } = await runMain(add);
      expect(code).not.toBe(0);
      expect(stderr).toMatch(/^The plugin "own" .* It says: broken here\n$/);
    },
  );
});

test.each(["audit", "catalog:change", "close"])(
  "a plugin that throws in %s is printed, and the command goes on",
  async (hook) => {
    await placePlugin(throwing(hook));
    const { code, stderr } = await runMain(add);
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: `toolpipe: The plugin "own" failed in its "${hook}" hook. It says: broken here\n`,
    });
  },
);

test("every command that reads a config takes --trace", async () => {
  await placePlugin(throwing("ready"));
  const { stderr } = await runMain(["list", "--trace"]);
  expect(stderr).toMatch(/caused by Error: broken here\n\s+at .*own\.ts/);
});

test.each([
  ["source", { sources: [{ type: "./mine.ts" }] }, "name"],
  ["upstream", { mcpServers: { s: { driver: "./mine.ts" } } }, "connect"],
])("a %s of the wrong shape is refused with the field that is missing", async (kind, config, field) => {
  await place({
    project: { "mine.ts": "export const mine = { nope: 1 };", "toolpipe.config.json": config },
  });
  const { stdout, stderr } = await runMain(["list", "--status"]);
  expect(stdout + stderr).toMatch(
    new RegExp(`${kind}: expected the ${kind} of "\\S*mine.ts" to be an object with the \\w+ "${field}"`),
  );
});

test("a cache storage of the wrong shape is refused with the function that is missing", async () => {
  await place({
    project: {
      "mine.ts": "export const mine = () => ({ nope: 1 });",
      "toolpipe.config.json": { cache: { storage: "./mine.ts" } },
    },
  });
  const { code, stderr } = await runMain(["list"]);
  expect(code).not.toBe(0);
  expect(stderr).toMatch(
    /cacheStorage: expected the cacheStorage of "\S*mine.ts" to be an object with the function "getItemRaw"/,
  );
});

test("a hook that is left behind is printed with the name of its plugin", async () => {
  await placePlugin(
    `export const own = definePlugin({ name: "own", setup: () => ({ "catalog:change": () => new Promise(() => {}) }) });`,
    { limits: { hookMs: 200 } },
  );
  const { code, stderr } = await runMain(add);
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: expect.stringContaining('toolpipe: The plugin "own" has not finished its "catalog:change" hook'),
  });
});

describe("a part of a plugin that can never run", () => {
  const source = `
    const noServers = { name: "none", read: () => ({ servers: [] }), locations: () => [] };
    export const own = definePlugin({ name: "own", drivers: { source: { none: noServers } }, setup: () => ({}) });
    export default own;`;
  const preset = `import { definePreset } from "toolpipe"; export default definePreset({ name: "bare", plugins: [] });`;
  const warning = 'The plugin "own" registers the source "none", which never runs';

  test("is printed by a command, and listed by config validate", async () => {
    await place({
      project: {
        "own.ts": `import { definePlugin } from "toolpipe";${source}`,
        "bare.ts": preset,
        "toolpipe.config.json": { preset: "./bare.ts", plugins: ["toolpipe/plugins/demo", "./own.ts"] },
      },
    });
    expect((await runMain(add)).stderr).toContain(`toolpipe: ${warning}`);
    const { code, stdout } = await runMain(["config", "validate"]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining(`! ${warning}`) });
  });
});

describe("commands of plugins", () => {
  const command = (name: string, run: string): string =>
    `definePlugin({ name: "${name}", setup: () => ({}), commands: { COMMAND: { description: "Own", load: async () => ({ run: async () => { ${run} } }) } } })`;

  test("of one name are refused by the names of both plugins", async () => {
    const source = command("one", "").replace("COMMAND", "sizes");
    await place({
      project: {
        "one.ts": `import { definePlugin } from "toolpipe"; export default ${source};`,
        "two.ts": `import { definePlugin } from "toolpipe"; export default ${source.replace('"one"', '"two"')};`,
        "toolpipe.config.json": { plugins: ["./one.ts", "./two.ts"] },
      },
    });
    const { code, stderr } = await runMain(["sizes"]);
    expect(code).toBe(1);
    expect(stderr).toContain('The plugins "one" and "two" both bring the command "sizes".');
  });

  test("are loaded as a module that exports `command`; one of another shape is named", async () => {
    const load = (module: string): string =>
      `export const own = definePlugin({ name: "own", setup: () => ({}), commands: { sizes: { description: "Own", load: async () => (${module}) } } });`;
    await placePlugin(load(`{ command: { run: async () => 7 } }`));
    expect((await runMain(["sizes"])).code).toBe(7);
    await placePlugin(load(`{ other: 1 }`));
    const { code, stderr } = await runMain(["sizes"]);
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringContaining(
        'The command "sizes" cannot be run: expected its module to export "command"',
      ),
    });
  });

  test("that toolpipe has itself are listed by config validate", async () => {
    await placePlugin(`export const own = ${command("own", "").replace("COMMAND", "list")};`);
    const { stdout } = await runMain(["config", "validate"]);
    expect(stdout).toContain('! The command "list" of the plugin "own" never runs');
  });

  test("that throw end with a message and a code, and with a stack at debug level", async () => {
    await placePlugin(
      `export const own = ${command("own", 'throw new Error("broken here");').replace("COMMAND", "sizes")};`,
    );
    const { code, stderr } = await runMain(["sizes"]);
    expect({ code, stderr }).toEqual({
      code: 3,
      stderr:
        "The command failed unexpectedly. It says: broken here\nSet LOG_LEVEL=debug to see where it failed.\n",
    });
    setLogLevel("debug");
    expect((await runMain(["sizes"])).stderr).toMatch(/caused by Error: broken here\n\s+at .*own\.ts/);
  });
});
