import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import {
  Call,
  createGateway,
  type Gateway,
  type GatewayError,
  loadConfig,
  type Plugin,
  textResult,
} from "../../core/mod.ts";
import { presets } from "../../presets/mod.ts";
import { listed, plugin } from "../support/hooks.ts";
import { openGateway } from "../support/open-gateway.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** Opens the gateway of a config file in JSON, with modules beside it. */
async function openConfig(config: object, modules: Readonly<Record<string, string>> = {}): Promise<Gateway> {
  const folder = await temporaryFolder({ ...modules, "toolpipe.config.json": JSON.stringify(config) });
  const loaded = await loadConfig({ presets, file: join(folder, "toolpipe.config.json") });
  return openGateway(loaded);
}

describe("a config in JSON names by the path of a module", () => {
  test("a source", async () => {
    const gateway = await openConfig(
      {
        preset: "passthrough",
        sources: [{ type: "./inventory.ts", path: "./servers.json" }, { type: "./fixed.ts" }],
      },
      {
        "inventory.ts": `export default {
          name: "inventory",
          read: (data) => ({ servers: data.machines.map((name) => ({ name, entry: { url: "http://127.0.0.1:9/" } })) }),
          locations: () => [],
        };`,
        "fixed.ts": `export default {
          name: "fixed",
          read: () => ({ servers: [] }),
          locations: () => [],
          entries: [{ name: "three", entry: { command: "node", disabled: true } }],
        };`,
        "servers.json": '{ "machines": ["one", "two"] }',
      },
    ).catch((error: GatewayError) => error);
    // Relative paths of files are seen from the folder at hand, which has no such file.
    const collected = await (gateway as Gateway).services.sources?.collect();
    expect(collected?.servers.map(({ name }) => name)).toEqual(["three"]);
    expect(collected?.files.map(({ source, status }) => [source, status])).toContainEqual([
      "inventory",
      "missing",
    ]);
  });

  test("an upstream, with a URL of any scheme", async () => {
    const gateway = await openConfig(
      {
        preset: "passthrough",
        mcpServers: { queue: { driver: "./queue.ts", url: "queue://jobs", headers: { key: "k" } } },
      },
      {
        "queue.ts": `export default {
          connect: async ({ connection }) => ({
            list: async () => ({ tools: [{ name: "push", inputSchema: { type: "object" } }], rejected: [] }),
            call: async (name, args) => ({ content: [{ type: "text", text: name + " " + args.job + " to " + connection.url }] }),
            close: async () => {},
          }),
        };`,
      },
    );
    await gateway.services.servers?.refresh("queue");
    const { result, error } = await gateway.run({ tool: "queue:push", args: { job: "a" } });
    expect(error).toBeUndefined();
    expect(result).toEqual(textResult("push a to queue://jobs"));
  });

  test("an upstream, which a file that others write may not name", async () => {
    const { normalizeEntry } = await import("../../plugins/lib/server-entry/normalize.ts");
    const raw = { name: "queue", entry: { driver: "./queue.ts", url: "queue://jobs" } };
    expect(normalizeEntry(raw, { source: "cursor", scope: "project" })).toEqual({
      reason: "it names a driver, which only the config of toolpipe may",
    });
  });
});

describe("the limits of hooks", () => {
  const hanging = `export default { name: "hanging", setup: () => ({ policy: () => new Promise(() => {}) }) };`;

  test("are a key of the config", async () => {
    const gateway = await openConfig(
      { preset: "passthrough", plugins: ["toolpipe/plugins/demo", "./hanging.ts"], limits: { hookMs: 1000 } },
      { "hanging.ts": hanging },
    );
    const { error } = await gateway.run({ tool: "demo:add", args: { a: 1, b: 2 } });
    expect(error).toMatchObject({ code: "TIMEOUT", data: { plugin: "hanging", ms: 1000 } });
  });

  test.each([
    [{ hookMs: 0 }, "limits.hookMs: expected at least 1 ms"],
    [{ hookMs: "1s" }, "limits.hookMs: expected number, found a string"],
    [{ hooksMs: 5 }, "limits.hooksMs: there is no such option"],
  ])("are checked: %j", async (limits, message) => {
    await expect(openConfig({ preset: "passthrough", limits })).rejects.toThrow(message);
  });

  test("end a command that has nothing else to wait for with a code and a message", async () => {
    const cwd = await temporaryFolder({
      "hanging.ts": hanging,
      "toolpipe.config.json": JSON.stringify({
        preset: "passthrough",
        plugins: ["toolpipe/plugins/demo", "./hanging.ts"],
        limits: { hookMs: 1000 },
      }),
    });
    const jiti = join(createRequire(import.meta.url).resolve("jiti/package.json"), "../lib/jiti-cli.mjs");
    const bin = fileURLToPath(new URL("../../plugins/cli/toolpipe.ts", import.meta.url));
    const args = ["execute", "demo", "add", "--args", '{"a":1,"b":2}', "--config", "toolpipe.config.json"];
    const child = spawn(
      process.execPath,
      "Deno" in globalThis ? ["run", "-A", bin, ...args] : [jiti, bin, ...args],
      { cwd, stdio: ["ignore", "pipe", "pipe"] },
    );
    const ended = new Promise((resolve) => child.once("close", resolve));
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
    expect(stdout + stderr).toContain(
      'The plugin "hanging" has not finished its "policy" hook within 1000 ms. The limit is limits.hookMs.',
    );
    expect(await ended).toBe(3);
  });
});

test("a hook gets a call that it cannot settle or begin", () => {
  const call = new Call({ tool: "s:t" });
  expect("settle" in call).toBe(false);
  expect("begin" in call).toBe(false);
});

describe("warns of plugins that can never run", () => {
  const reports: GatewayError[] = [];
  const watch = plugin("watch", { error: (error) => void reports.push(error) });
  const messages = (): string[] => reports.splice(0).map(({ message }) => message);
  const registering = (kind: "source" | "upstream" | "ranker"): Plugin => ({
    name: "third",
    setup: (gateway) => gateway.register(kind, "mine", {} as never),
  });

  test.each([
    ["source", "sources"],
    ["upstream", "servers"],
    ["ranker", "search"],
  ] as const)("a %s that no plugin reads", async (kind, service) => {
    await createGateway({ plugins: [watch, registering(kind)] });
    expect(messages()).toEqual([
      `The plugin "third" registers the ${kind} "mine", which never runs: no plugin provides the service "${service}". Add one that does to "plugins", or leave "third" out.`,
    ]);
  });

  test("a wrapper with the order post behind the plugin that answers", async () => {
    const answer = plugin(
      "answer",
      {
        execute(call) {
          call.result = textResult("done");
        },
      },
      { order: "post" },
    );
    const late = plugin("late", { execute: (_call, next) => next() }, { order: "post" });
    const gateway = await createGateway({ plugins: [watch, listed, answer, late] });
    await gateway.run({ tool: "s:t" });
    await gateway.run({ tool: "s:t" });
    expect(messages()).toEqual([
      'The "execute" hook of "late" never runs for tools such as "s:t": "answer" answers first. Leave out the order "post" of "late".',
    ]);
  });

  test("but not plugins that answer tools of their own", async () => {
    const { localTools } = await import("../../core/mod.ts");
    const one = localTools("one", { id: "one" }, [
      { name: "t", inputSchema: {}, run: () => textResult("1") },
    ]);
    const two = localTools("two", { id: "two" }, [
      { name: "t", inputSchema: {}, run: () => textResult("2") },
    ]);
    const gateway = await createGateway({ plugins: [watch, one, two] });
    await gateway.run({ tool: "one:t" });
    await gateway.run({ tool: "two:t" });
    expect(messages()).toEqual([]);
  });
});
