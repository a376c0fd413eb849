import { mkdtemp, readdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { loadModule } from "../core/load-module.ts";
import { createGateway, type ErrorKind, errorKinds, type LoadedConfig, loadConfig } from "../core/mod.ts";
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

test("the README's table of errors holds every code there is, as the code has it", async () => {
  const rows = [...readme.matchAll(/^\| `([A-Z_]+)` \| `([A-Z_]+)` \| (-?\d+) \| (\d) \| (yes|no) \|$/gm)];
  const documented = rows.map(([, code, spec, rpc, exit, retry]) => ({
    code,
    spec,
    rpc: Number(rpc),
    exit: Number(exit),
    retry: retry === "yes",
  }));
  const inCode = [...Object.values(errorKinds), ...(await kindsOfPlugins())];
  expect(documented.toSorted(byCode)).toEqual(inCode.toSorted(byCode));
});

function byCode(a: { code?: string | undefined }, b: { code?: string | undefined }): number {
  return String(a.code) < String(b.code) ? -1 : 1;
}

/** Every kind that a file of a plugin or a preset exports. */
async function kindsOfPlugins(): Promise<ErrorKind[]> {
  const kinds = await Promise.all(["../core/services/", "../plugins/", "../presets/"].map(kindsIn));
  return [...new Set(kinds.flat())];
}

async function kindsIn(place: string): Promise<ErrorKind[]> {
  const root = new URL(place, import.meta.url);
  const files = (await readdir(root, { recursive: true })).filter((file) => file.endsWith(".ts"));
  const texts = await Promise.all(
    files.map(async (file) => ({ file, text: await readFile(new URL(file, root), "utf8") })),
  );
  const declaring = texts.filter(({ text }) => /^export const [A-Z_]+: ErrorKind = /m.test(text));
  const modules = await Promise.all(declaring.map(({ file }) => import(new URL(file, root).href)));
  return modules.flatMap((module) => Object.values(module).filter(isKind));
}

function isKind(value: unknown): value is ErrorKind {
  const kind = value as Partial<ErrorKind> | null;
  return typeof kind === "object" && typeof kind?.code === "string" && typeof kind.rpc === "number";
}
