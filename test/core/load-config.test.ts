import { readFileSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { loadPlugin } from "../../core/load-module.ts";
import {
  createGateway,
  findConfig,
  type GatewayError,
  type LoadedConfig,
  loadConfig,
} from "../../core/mod.ts";
import { presets } from "../../presets/mod.ts";
import { catchFailure } from "../support/failure.ts";
import { temporaryFolder, writeFiles } from "../support/temporary-folder.ts";

type Files = Readonly<Record<string, string>>;

async function load(files: Files, options: { file?: string; preset?: string } = {}): Promise<LoadedConfig> {
  return loadConfig({ presets, cwd: await temporaryFolder(files), ...options });
}

/** Returns the ids of the tools in the catalog of a config. */
async function listTools(config: LoadedConfig): Promise<string[]> {
  const gateway = await createGateway(config);
  const ids = gateway.catalog.tools().map(({ id }) => id);
  await gateway.close();
  return ids;
}

const demoTools = ["demo:add", "demo:word_count", "demo:countdown"];

const moduleConfig = `
  import { defineConfig } from "toolpipe";
  import { demo } from "toolpipe/plugins/demo";
  export default defineConfig({ preset: "gateway", plugins: [demo()] });
`;

describe("a config file", () => {
  test.each(["ts", "mts", "js", "mjs"])(
    "toolpipe.config.%s imports the package by name from a folder without node_modules",
    async (ending) => {
      const name = `toolpipe.config.${ending}`;
      const cwd = await temporaryFolder({ [name]: moduleConfig });
      const config = await loadConfig({ presets, cwd });
      expect(config.configFile).toBe(join(cwd, name));
      expect(config.preset.name).toBe("gateway");
      expect(await listTools(config)).toEqual(demoTools);
    },
  );

  test.each(["ts", "mts"])("toolpipe.config.%s may use types", async (ending) => {
    const config = await load({
      [`toolpipe.config.${ending}`]: `
        import type { Config } from "toolpipe";
        const config: Config = { preset: "passthrough" satisfies string };
        export default config as Config;
      `,
    });
    expect(config.preset.name).toBe("passthrough");
  });

  test("toolpipe.config.json may hold comments, trailing commas, a byte order mark and $schema", async () => {
    const config = await load({
      "toolpipe.config.json": `\uFEFF{
        // which tools
        "$schema": "./node_modules/toolpipe/config.schema.json",
        "preset": "gateway", /* five meta-tools */
        "plugins": ["toolpipe/plugins/demo",],
      }`,
    });
    expect(config.preset.name).toBe("gateway");
    expect(await listTools(config)).toEqual(demoTools);
  });

  test("toolpipe.config.yaml is read", async () => {
    const config = await load({
      "toolpipe.config.yaml": "$schema: x\npreset: gateway\nplugins:\n  - toolpipe/plugins/demo\n",
    });
    expect(config.preset.name).toBe("gateway");
    expect(await listTools(config)).toEqual(demoTools);
  });

  test("is not needed: without one, the preset is anygpt with no plugins of its own", async () => {
    const config = await load({});
    expect(config).toMatchObject({ configFile: undefined, plugins: [], settings: {} });
    expect(config.preset.name).toBe("anygpt");
  });

  test("can be a path relative to the folder, and then no other is searched", async () => {
    const files = {
      "toolpipe.config.ts": "throw new Error()",
      "toolpipe.config.json": "{",
      "other/gateway.yml": "preset: gateway",
      "LOUD.JSON": `{ "preset": "passthrough" }`,
    };
    expect((await load(files, { file: "other/gateway.yml" })).preset.name).toBe("gateway");
    expect((await load(files, { file: "./LOUD.JSON" })).preset.name).toBe("passthrough");
  });

  test("is read again every time, whatever its extension", async () => {
    const module = (preset: string) => `export default { preset: "${preset}" };`;
    const contents: Record<string, (preset: string) => string> = {
      ts: module,
      mts: module,
      js: module,
      mjs: module,
      json: (preset) => JSON.stringify({ preset }),
      yaml: (preset) => `preset: ${preset}`,
    };
    for (const [ending, content] of Object.entries(contents)) {
      const file = `toolpipe.config.${ending}`;
      const cwd = await temporaryFolder();
      const seen: string[] = [];
      for (const preset of ["anygpt", "gateway", "passthrough"]) {
        await writeFiles(cwd, { [file]: content(preset) });
        seen.push((await loadConfig({ presets, cwd })).preset.name);
      }
      expect([ending, ...seen]).toEqual([ending, "anygpt", "gateway", "passthrough"]);
    }
  });

  test("is read again together with the modules and plugins beside it", async () => {
    const cwd = await temporaryFolder({
      "toolpipe.config.ts": `
        import { preset } from "./choice.ts";
        export default { preset, plugins: ["./plugin.ts"] };
      `,
    });
    const seen: string[] = [];
    for (const preset of ["anygpt", "gateway"]) {
      await writeFiles(cwd, {
        "choice.ts": `export const preset = "${preset}";`,
        "plugin.ts": `export const plugin = { name: "of-${preset}", setup() {} };`,
      });
      const config = await loadConfig({ presets, cwd });
      seen.push(config.preset.name, config.plugins?.[0]?.name ?? "");
    }
    expect(seen).toEqual(["anygpt", "of-anygpt", "gateway", "of-gateway"]);
  });

  test("that was fixed after a fault is loaded", async () => {
    const cwd = await temporaryFolder({ "toolpipe.config.mjs": "export default {" });
    await catchFailure(loadConfig({ presets, cwd }));
    await writeFile(join(cwd, "toolpipe.config.mjs"), `export default { preset: "gateway" };`);
    expect((await loadConfig({ presets, cwd })).preset.name).toBe("gateway");
  });

  test.each(["ts", "js", "mjs"])("toolpipe.config.%s runs once, even if it throws", async (ending) => {
    const runs: string[] = [];
    Object.assign(globalThis, { configRuns: runs });
    const body = `import "toolpipe"; globalThis.configRuns.push("run"); throw new Error("no luck");`;
    await catchFailure(load({ [`toolpipe.config.${ending}`]: body }));
    expect(runs).toEqual(["run"]);
  });

  test("findConfig answers with its path, or with nothing", async () => {
    const cwd = await temporaryFolder({ "toolpipe.config.mts": "" });
    expect(await findConfig(cwd)).toBe(join(cwd, "toolpipe.config.mts"));
    await rm(join(cwd, "toolpipe.config.mts"));
    expect(await findConfig(cwd)).toBeUndefined();
  });
});

describe("a preset", () => {
  const own = `
    import { definePreset } from "toolpipe";
    import { demo } from "toolpipe/plugins/demo";
    export const own = definePreset({ name: "own", plugins: [demo()] });
  `;

  test.each(["anygpt", "gateway", "passthrough"])("is found by the name %s", async (name) => {
    expect((await load({ "toolpipe.config.json": JSON.stringify({ preset: name }) })).preset.name).toBe(name);
  });

  test("is found by a path relative to the config file, not to the current folder", async () => {
    const files = { "configs/toolpipe.config.json": `{ "preset": "./own.ts" }`, "configs/own.ts": own };
    const config = await load(files, { file: "configs/toolpipe.config.json" });
    expect(config.preset.name).toBe("own");
    expect(await listTools(config)).toEqual(demoTools);
  });

  test("may be an imported object, of the package or of the user", async () => {
    const imported = `import { gateway } from "toolpipe/presets/gateway"; export default { preset: gateway };`;
    expect((await load({ "toolpipe.config.ts": imported })).preset.name).toBe("gateway");
    const local = `import { own } from "./own.ts"; export default { preset: own };`;
    const plain = `import { definePreset } from "toolpipe"; export const own = definePreset({ name: "own", plugins: [] });`;
    expect((await load({ "toolpipe.config.ts": local, "own.ts": plain })).preset.name).toBe("own");
  });

  test("given by the caller wins over the file's, and a wrong one in the file is then no matter", async () => {
    const files = { "toolpipe.config.json": `{ "preset": "anygtp" }`, "own.ts": own };
    expect((await load(files, { preset: "gateway" })).preset.name).toBe("gateway");
    expect((await load(files, { preset: "./own.ts" })).preset.name).toBe("own");
  });

  test("of a name that every object has is not found on the table's prototype", async () => {
    const error = await catchFailure(load({ "toolpipe.config.json": `{ "preset": "constructor" }` }));
    expect(error.message).toContain(`found "constructor"`);
  });
});

describe("plugins", () => {
  test("may be objects, local modules of any kind, modules of this package and of others", async () => {
    const config = await load({
      "toolpipe.config.ts": `
        import { definePlugin } from "toolpipe";
        const made = definePlugin({ name: "made", setup() {} });
        const plain = { name: "plain", setup() {} };
        export default {
          plugins: [made(), plain, "./factory.ts", "./object.js", "./several.mjs", "./old.cjs", "toolpipe/plugins/demo", "package"],
        };
      `,
      "factory.ts": `
        import { definePlugin } from "toolpipe";
        export const factory = definePlugin({ name: "factory", setup() {} });
      `,
      "object.js": `export const limit = 5; export const plugin = { name: "object", setup() {} };`,
      "several.mjs": `
        export const other = { name: "other", setup() {} };
        export default { name: "default", setup() {} };
      `,
      "old.cjs": `module.exports = { name: "old", setup() {} };`,
      "node_modules/package/package.json": `{ "name": "package", "type": "module", "exports": "./index.js" }`,
      "node_modules/package/index.js": `
        import { definePlugin } from "toolpipe";
        export const packaged = definePlugin({ name: "packaged", setup() {} });
      `,
    });
    expect(config.plugins?.map(({ name }) => name)).toEqual([
      "made",
      "plain",
      "factory",
      "object",
      "default",
      "old",
      "demo",
      "packaged",
    ]);
    expect(await listTools(config)).toEqual(demoTools);
  });

  test("that throw errors of the package are understood, though they have their own copy of it", async () => {
    const config = await load({
      "toolpipe.config.json": `{ "plugins": ["toolpipe/plugins/demo", "./never.ts"] }`,
      "never.ts": `
        import { definePlugin, GatewayError } from "toolpipe";
        export const never = definePlugin({
          name: "never",
          setup: () => ({ policy() { throw new GatewayError("DENIED", "Never."); } }),
        });
      `,
    });
    const gateway = await createGateway(config);
    const call = await gateway.run({ tool: "demo:add", args: { a: 1, b: 2 } });
    await gateway.close();
    expect(call).toMatchObject({ ok: false, stage: "policy", error: { code: "DENIED", kind: { exit: 4 } } });
  });
});

describe("a plugin of the package", () => {
  const { exports } = JSON.parse(readFileSync(new URL("../../deno.json", import.meta.url), "utf8")) as {
    exports: Record<string, string>;
  };
  // A program and a library; neither is a plugin that a config adds.
  const others = ["./plugins/cli", "./plugins/serve", "./plugins/export"];
  const subpaths = Object.keys(exports).filter(
    (path) => path.startsWith("./plugins/") && !others.includes(path),
  );

  test.each(subpaths)("%s is named by its path in the package", async (path) => {
    const plugin = await loadPlugin(
      path.replace(/^\./, "toolpipe"),
      fileURLToPath(import.meta.url),
      "plugins.0",
    );
    expect("pluginName" in plugin ? plugin.pluginName : plugin.name).toMatch(/./);
  });
});

describe("options", () => {
  test("are parsed once, of a plugin by path as of one of the preset", async () => {
    const own = `
      import { definePlugin, localTools, textResult, definePreset } from "toolpipe";
      import * as v from "valibot";
      const seen: string[] = (globalThis.parsedOptions ??= []);
      const options = v.pipe(v.strictObject({ name: v.optional(v.string(), "") }), v.transform((given) => {
        seen.push(given.name);
        return given;
      }));
      const define = (name: string) => definePlugin({ name, options, setup: () => ({}) });
      export const parts = { one: define("one"), two: define("two") };`;
    const config = await load({
      "toolpipe.config.json": `{ "preset": "./preset.ts", "plugins": ["./plugin.ts"], "options": { "one": { "name": "a" }, "two": { "name": "b" } } }`,
      "own.ts": own,
      "plugin.ts": `import { parts } from "./own.ts"; export default parts.one;`,
      "preset.ts": `import { definePreset } from "toolpipe"; import { parts } from "./own.ts"; export default definePreset({ name: "own", plugins: [parts.two()] });`,
    });
    await (await createGateway(config)).close();
    const { parsedOptions } = globalThis as { parsedOptions?: string[] };
    // The preset creates its plugin without options before a config is read.
    expect(parsedOptions).toEqual(["", "b", "a"]);
  });

  test("replace those of a plugin of the preset", async () => {
    const config = await load({
      "toolpipe.config.json": `{ "plugins": ["toolpipe/plugins/demo"], "options": { "timeout": { "ms": 30, "extendOnProgress": false } } }`,
    });
    const gateway = await createGateway(config);
    const call = await gateway.run({ tool: "demo:countdown", args: { from: 100 } });
    await gateway.close();
    expect(call).toMatchObject({ ok: false, error: { code: "TIMEOUT", data: { ms: 30 } } });
  });

  const greeter = `
    import { definePlugin, localTools, textResult } from "toolpipe";
    import * as v from "valibot";
    export const greeter = definePlugin({
      name: "greeter",
      options: v.strictObject({ name: v.string(), greeting: v.optional(v.string(), "Hello") }),
      setup: (gateway, { name, greeting }) =>
        localTools("greeter", { id: "greeter" }, [
          { name: "greet", inputSchema: { type: "object" }, run: () => textResult(greeting + " " + name) },
        ]).setup(gateway),
    });
  `;

  test("reach a plugin that is named by path and cannot be made without them", async () => {
    const config = await load({
      "toolpipe.config.json": `{ "plugins": ["./greeter.ts"], "options": { "greeter": { "name": "Ada" } } }`,
      "greeter.ts": greeter,
    });
    const gateway = await createGateway(config);
    const call = await gateway.run({ tool: "greeter:greet" });
    await gateway.close();
    expect(call.ok && call.result.content[0]?.["text"]).toBe("Hello Ada");
  });

  test("replace one by one those that a plugin was made with", async () => {
    const config = await load({
      "toolpipe.config.ts": `
        import { greeter } from "./greeter.ts";
        export default { plugins: [greeter({ name: "Ada" })], options: { greeter: { greeting: "Good day" } } };
      `,
      "greeter.ts": greeter,
    });
    const gateway = await createGateway(config);
    const call = await gateway.run({ tool: "greeter:greet" });
    await gateway.close();
    expect(call.ok && call.result.content[0]?.["text"]).toBe("Good day Ada");
  });

  test("that a plugin cannot be made without, and that are missing, are named", async () => {
    const error = await catchFailure(
      load({ "toolpipe.config.json": `{ "plugins": ["./greeter.ts"] }`, "greeter.ts": greeter }),
    );
    expect(error.code).toBe("PLUGIN_INVALID");
    expect(error.message).toMatch(/toolpipe\.config\.json: .*"greeter".*name: expected .* found nothing/);
  });
});

describe("a key at the top of a config that a plugin claims", () => {
  const claims = `
    import { definePlugin, localTools, textResult } from "toolpipe";
    import * as v from "valibot";
    export const claims = definePlugin({
      name: "claims",
      keys: ["rules", "claims"],
      options: v.strictObject({
        rules: v.optional(v.array(v.string()), []),
        mode: v.optional(v.string(), "none"),
      }),
      setup: (gateway, options) =>
        localTools("claims", { id: "claims" }, [
          { name: "show", inputSchema: { type: "object" }, run: () => textResult(JSON.stringify(options)) },
        ]).setup(gateway),
    });
  `;

  async function readClaims(config: object): Promise<unknown> {
    const text = JSON.stringify({ plugins: ["./claims.ts"], ...config });
    const gateway = await createGateway(await load({ "toolpipe.config.json": text, "claims.ts": claims }));
    const call = await gateway.run({ tool: "claims:show" });
    await gateway.close();
    return call.ok && JSON.parse(String(call.result.content[0]?.["text"]));
  }

  test("is an option of that plugin", async () => {
    expect(await readClaims({ rules: ["a"] })).toEqual({ rules: ["a"], mode: "none" });
  });

  test("holds all of its options where it is the plugin's name", async () => {
    expect(await readClaims({ claims: { mode: "own", rules: ["b"] } })).toEqual({
      rules: ["b"],
      mode: "own",
    });
  });

  test("gives way to the same option under options, and leaves the others", async () => {
    const options = { claims: { rules: ["c"] } };
    expect(await readClaims({ claims: { mode: "own", rules: ["b"] }, options })).toEqual({
      rules: ["c"],
      mode: "own",
    });
  });

  test.each([
    [
      "a wrong value",
      { rules: "sk-live-1" },
      "PLUGIN_INVALID",
      /"claims" .*rules: expected .*, found a string/,
    ],
    [
      "no object of options",
      { claims: "sk-live-1" },
      "CONFIG_INVALID",
      /claims: expected an object of options/,
    ],
    [
      "a key that no plugin claims",
      { rulse: [] },
      "CONFIG_INVALID",
      /rulse: there is no such option; did you mean "rules"\?/,
    ],
  ])("is checked: %s", async (_what, config, code, message) => {
    const error = await catchFailure(readClaims(config));
    expectOneLine(error, code, ["toolpipe.config.json: "]);
    expect(error.message).toMatch(message);
    expect(error.message).not.toContain("sk-live-1");
  });
});

interface Fault {
  readonly files: Files;
  /** The strings that the message must contain besides the file. */
  readonly says: readonly string[];
  readonly code?: "CONFIG_INVALID" | "PLUGIN_INVALID";
}

const json = (text: string, rest: Files = {}): Files => ({ "toolpipe.config.json": text, ...rest });
const yaml = (text: string): Files => ({ "toolpipe.config.yaml": text });
const ts = (text: string, rest: Files = {}): Files => ({ "toolpipe.config.ts": text, ...rest });

const faults: Readonly<Record<string, Fault>> = {
  "a wrong key": {
    files: json(`{ "presets": "anygpt" }`),
    says: ["presets: there is no such option", `did you mean "preset"?`],
  },
  "a wrong key that resembles none": {
    files: yaml("elephants: []"),
    says: ["elephants: there is no such option"],
  },
  "a list for the config": { files: json("[]"), says: ["the config: expected an object, found an array"] },
  "a number for the config": { files: yaml("5"), says: ["the config: expected an object, found a number"] },
  "a function for the config": {
    files: ts("export default () => ({});"),
    says: ["the config: expected an object, found a function"],
  },
  "a string for the plugins": {
    files: json(`{ "plugins": "toolpipe/plugins/demo" }`),
    says: ["plugins: expected a list of plugins, found a string"],
  },
  "a number for a plugin": {
    files: json(`{ "plugins": ["toolpipe/plugins/demo", 5] }`),
    says: ["plugins.1: expected a plugin, or the path of one, found 5"],
  },
  "a plugin that was not called": {
    files: ts(`import { demo } from "toolpipe/plugins/demo"; export default { plugins: [demo] };`),
    says: ["plugins.0: expected a plugin", "found Function"],
  },
  "a number for the preset": {
    files: json(`{ "preset": 5 }`),
    says: ["preset: expected a preset, or the name or path of one, found 5"],
  },
  "an object that is no preset": {
    files: ts(`export default { preset: { name: "mine" } };`),
    says: ["preset: expected a preset", "found Object"],
  },
  "an unknown preset": {
    files: json(`{ "preset": "anygtp" }`),
    says: [`preset: expected "anygpt"`, `found "anygtp"`, `did you mean "anygpt"?`],
  },
  "a preset module that is not there": {
    files: json(`{ "preset": "./mine.ts" }`),
    says: [`preset: "./mine.ts" could not be loaded`],
  },
  "a preset module with no preset": {
    files: json(`{ "preset": "./mine.ts" }`, { "mine.ts": "export const mine = {};" }),
    says: [`preset: expected "./mine.ts" to export a preset, found none`],
  },
  "a list for the options": {
    files: json(`{ "options": [1] }`),
    says: ["options"],
  },
  "a number for the options of a plugin": {
    files: json(`{ "options": { "timeout": 5 } }`),
    says: ["options.timeout: expected an object of options, found 5"],
  },
  "options of an unknown plugin": {
    files: json(`{ "options": { "tiemout": { "ms": 5 } } }`),
    says: ["options.tiemout: there is no plugin of this name", `did you mean "timeout"?`],
  },
  "options of a plugin that takes none": {
    files: ts(`export default { plugins: [{ name: "mine", setup() {} }], options: { mine: { a: 1 } } };`),
    says: ["options.mine: this plugin takes no options"],
  },
  "a plugin option of the wrong type": {
    files: json(`{ "options": { "timeout": { "ms": "soon" } } }`),
    says: [`"timeout"`, "ms: expected number, found a string"],
    code: "PLUGIN_INVALID",
  },
  "a plugin option that does not exist": {
    files: yaml("options:\n  timeout:\n    sm: 5\n"),
    says: [`"timeout"`, "sm: there is no such option"],
    code: "PLUGIN_INVALID",
  },
  "a plugin made with a wrong option": {
    files: ts(`
      import { timeout } from "toolpipe/plugins/timeout";
      export default { preset: "passthrough", plugins: [timeout({ ms: -1 })] };
    `),
    says: [`"timeout"`, "ms: expected a number of milliseconds, 1 or more, found -1"],
    code: "PLUGIN_INVALID",
  },
  "a module without a default export": {
    files: ts("export const config = {};"),
    says: ["the module has no default export"],
  },
  "a plugin module with nothing that fits": {
    files: json(`{ "plugins": ["./mine.ts"] }`, { "mine.ts": "export const mine = () => {};" }),
    says: [`plugins.0: expected "./mine.ts" to export a plugin, found none`],
  },
  "a plugin module with two that fit": {
    files: json(`{ "plugins": ["./mine.ts"] }`, {
      "mine.ts": `export const a = { name: "a", setup() {} }; export const b = { name: "b", setup() {} };`,
    }),
    says: [`plugins.0: expected "./mine.ts" to export a plugin, found 2, none of them the default`],
  },
  "a plugin module that is not there": {
    files: json(`{ "plugins": ["toolpipe/plugins/demo", "./mine.ts"] }`),
    says: [`plugins.1: "./mine.ts" could not be loaded: Cannot find module './mine.ts'`],
  },
  "a plugin module that cannot be parsed": {
    files: json(`{ "plugins": ["./mine.ts"] }`, { "mine.ts": "export const a = 1;\nexport const b = = 2;" }),
    says: [`plugins.0: "./mine.ts" could not be loaded`, "mine.ts:2)"],
  },
  "a plugin module that throws": {
    files: json(`{ "plugins": ["./mine.ts"] }`, { "mine.ts": `throw new Error("no luck\\ntoday");` }),
    says: [`plugins.0: "./mine.ts" could not be loaded: no luck`],
  },
  "a plugin of this package that does not exist": {
    files: json(`{ "plugins": ["toolpipe/plugins/dmo"] }`),
    says: ["plugins.0", `no module "toolpipe/plugins/dmo"`, `did you mean "toolpipe/plugins/demo"?`],
  },
  "a package that is not installed": {
    files: json(`{ "plugins": ["no-such-package"] }`),
    says: [`plugins.0: "no-such-package" could not be loaded: Cannot find module 'no-such-package'`],
  },
  "a syntax error in TypeScript": {
    files: ts(`export default {\n  preset: "anygpt",\n  plugins: = []\n};`),
    says: ["it could not be loaded: Unexpected token", "toolpipe.config.ts:3)"],
  },
  "a syntax error in JavaScript": {
    files: { "toolpipe.config.mjs": "export default {\n  preset: = 5\n};" },
    says: ["it could not be loaded: Unexpected token", "toolpipe.config.mjs:2)"],
  },
  "a syntax error in JSON": {
    files: json(`{\n  "preset": \n}`),
    says: ["toolpipe.config.json:3:1: value expected"],
  },
  "an empty JSON file": { files: json(""), says: ["toolpipe.config.json:1:1: value expected"] },
  "a syntax error in YAML": {
    files: yaml("preset: anygpt\n plugins: ["),
    says: ["toolpipe.config.yaml:2:"],
  },
  "an empty YAML file": { files: yaml("# nothing yet\n"), says: ["toolpipe.config.yaml:"] },
  "a config that throws": {
    files: ts(`throw new Error("GITHUB_TOKEN is not set\\nat all");`),
    says: ["it could not be loaded: GITHUB_TOKEN is not set"],
  },
  "a config that throws no error": {
    files: ts(`throw "one\\ntwo";`),
    says: ["it could not be loaded: it threw a value that is not an error"],
  },
  "__proto__ in JSON": {
    files: json(`{\n  "__proto__": { "preset": "gateway" } }`),
    says: [`toolpipe.config.json:2:3: the key "__proto__" is not allowed`],
  },
  "__proto__ deep in JSON": {
    files: json(`{ "options": { "timeout": { "\\u005f_proto__": { "ms": 1 } } } }`),
    says: [`the key "__proto__" is not allowed`],
  },
  "__proto__ in YAML": {
    files: yaml("__proto__:\n  preset: gateway\n"),
    says: ["__proto__: this key is not allowed"],
  },
  "__proto__ deep in YAML": {
    files: yaml("options:\n  timeout:\n    __proto__: { ms: 1 }\n"),
    says: ["options.timeout.__proto__: this key is not allowed"],
  },
  "very deep JSON": { files: json("[".repeat(100_000)), says: ["nested too deeply"] },
  "very deep YAML": { files: yaml("[".repeat(100_000)), says: ["toolpipe.config.yaml:1:"] },
  "deep JSON where a number should be": {
    files: json(`{ "options": { "timeout": { "ms": ${"[".repeat(2_000)}${"]".repeat(2_000)} } } }`),
    says: ["ms: expected number, found Array"],
    code: "PLUGIN_INVALID",
  },
  "a folder of that name": { files: { "toolpipe.config.json/x": "" }, says: ["cannot be read (EISDIR)"] },
};

function expectOneLine(error: GatewayError, code: string, parts: readonly string[]): void {
  expect(error.code).toBe(code);
  expect(error.kind).toMatchObject({ exit: 2, spec: "CONFIGURATION_ERROR" });
  expect(error.message).not.toMatch(/[\r\n]/);
  for (const part of parts) expect(error.message).toContain(part);
}

describe("an error is one line that names the file, the path, and the mistake:", () => {
  test.each(Object.entries(faults))("%s", async (_name, { files, says, code = "CONFIG_INVALID" }) => {
    const cwd = await temporaryFolder(files);
    const error = await catchFailure(loadConfig({ presets, cwd }));
    const file = Object.keys(files).find((name) => name.startsWith("toolpipe.config")) ?? "";
    expectOneLine(error, code, [join(cwd, file.replace("/x", "")), ...says]);
    expect(Object.prototype).not.toHaveProperty("preset");
  });

  test("two config files", async () => {
    const cwd = await temporaryFolder({ "toolpipe.config.yaml": "", "toolpipe.config.ts": "" });
    const error = await catchFailure(loadConfig({ presets, cwd }));
    expectOneLine(error, "CONFIG_INVALID", [
      join(cwd, "toolpipe.config.yaml"),
      join(cwd, "toolpipe.config.ts"),
    ]);
  });

  test("a named file that is not there", async () => {
    const cwd = await temporaryFolder();
    const error = await catchFailure(loadConfig({ presets, cwd, file: "mine.json" }));
    expectOneLine(error, "CONFIG_INVALID", [join(cwd, "mine.json"), "there is no such file"]);
  });

  test("a named file of an ending that means nothing, which is not run as a program", async () => {
    const cwd = await temporaryFolder({ "mine.toml": "globalThis.ranToml = true" });
    const error = await catchFailure(loadConfig({ presets, cwd, file: "mine.toml" }));
    expectOneLine(error, "CONFIG_INVALID", [join(cwd, "mine.toml"), "expected a file that ends in .ts"]);
    expect(globalThis).not.toHaveProperty("ranToml");
  });

  test("a preset that the caller asks for, where there is no file to name", async () => {
    const error = await catchFailure(load({}, { preset: "gatway" }));
    expectOneLine(error, "CONFIG_INVALID", [`found "gatway"`, `did you mean "gateway"?`]);
  });
});

describe("a string that may be a secret is not printed", () => {
  const secret = "sk-live-0123456789abcdef";

  test.each([
    ["as the whole config", json(JSON.stringify(secret))],
    ["as options", json(JSON.stringify({ options: secret }))],
    ["as the options of a plugin", json(JSON.stringify({ options: { timeout: secret } }))],
    ["as an option", json(JSON.stringify({ options: { timeout: { ms: secret } } }))],
    ["as the list of plugins", json(JSON.stringify({ plugins: secret }))],
    ["as a long name of a preset", json(JSON.stringify({ preset: secret + secret }))],
    ["as an alias in YAML", yaml(`options: *${secret}`)],
    ["as a tag in YAML", yaml(`options: !${secret} x`)],
    ["beside a syntax error in YAML", yaml(`token: ${secret}\n broken: [`)],
    ["beside a syntax error in JSON", json(`{ "token": "${secret}" "preset" }`)],
    ["beside a syntax error in TypeScript", ts(`const token = "${secret}" = 5;`)],
    ["in an option that does not exist", json(JSON.stringify({ options: { timeout: { token: secret } } }))],
  ])("%s", async (_where, files) => {
    const error = await catchFailure(load(files));
    expect(error.kind.exit).toBe(2);
    expect(error.message).not.toContain(secret);
    expect(JSON.stringify(error)).not.toContain(secret);
  });

  test("any value instead of an option", async () => {
    const cwd = await temporaryFolder();
    const leaf = fc.oneof(fc.constant(secret), fc.integer(), fc.boolean(), fc.constant(null));
    const value = fc.letrec((tie) => ({
      node: fc.oneof({ depthSize: "small" }, leaf, fc.array(tie("node")), fc.dictionary(word(), tie("node"))),
    })).node;
    await fc.assert(
      fc.asyncProperty(word(), value, async (plugin, options) => {
        const file = join(cwd, "toolpipe.config.json");
        await writeFile(file, JSON.stringify({ options: { [plugin]: options } }));
        const outcome = await loadConfig({ presets, cwd }).catch((error: GatewayError) => error);
        if (!(outcome instanceof Error)) return;
        expect(outcome.kind.exit).toBe(2);
        expect(outcome.message.startsWith(file)).toBe(true);
        expect(outcome.message).not.toMatch(/[\r\n]/);
        expect(outcome.message).not.toContain(secret);
      }),
    );
  });

  function word(): fc.Arbitrary<string> {
    return fc.constantFrom("timeout", "audit", "search", "ms", "file", "sink", "ranker", "tiemout", "x");
  }
});
