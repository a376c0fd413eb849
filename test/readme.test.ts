import { mkdtemp, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { loadModule } from "../core/load-module.ts";
import { createGateway, type LoadedConfig, loadConfig } from "../core/mod.ts";
import { presets } from "../presets/mod.ts";
import { removeFolder } from "./support/temporary-folder.ts";

const readme = await readFile(new URL("../README.md", import.meta.url), "utf8");
let folder: string;

/** The code blocks of the README that say which file they are, as files of one folder. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "toolpipe-readme-"));
  for (const [, name, code] of readme.matchAll(/```ts file=(\S+)\n(.*?)```/gs)) {
    await writeFile(join(folder, String(name)), String(code));
  }
});
afterAll(() => removeFolder(folder));

/** The servers in it are listed but not asked for their tools: they are not on this machine. */
async function readmeConfig(): Promise<LoadedConfig> {
  const config = await loadConfig({ presets, cwd: folder });
  const own = { cache: { enabled: false }, upstreams: { discover: "none" } };
  return { ...config, options: { ...config.options, ...own } };
}

test("the README's config and plugin work as written", async () => {
  const gateway = await createGateway(await readmeConfig());
  expect(gateway.plugins).toContain("office-hours");
  const call = await gateway.run({ tool: "demo:add", args: { a: 2, b: 3 } });
  expect(call.ok && call.result.content).toEqual([{ type: "text", text: "5" }]);
  await gateway.close();
});

test("the README's plugin denies what it says it denies", async () => {
  const config = await readmeConfig();
  const gateway = await createGateway({
    ...config,
    options: { ...config.options, "office-hours": { from: 0, to: 0 } },
  });
  const call = await gateway.run({ tool: "demo:add", args: { a: 2, b: 3 } });
  expect(call.error?.code).toBe("DENIED");
  await gateway.close();
});

test("the README's library example runs", async () => {
  const printed: unknown[] = [];
  const { log } = console;
  console.log = (value: unknown) => void printed.push(value);
  try {
    await loadModule("./library.ts", join(folder, "library.ts"));
  } finally {
    console.log = log;
  }
  expect(printed).toEqual([[{ type: "text", text: "5" }]]);
});
