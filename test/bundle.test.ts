import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import { createRequire, isBuiltin } from "node:module";
import { type AddressInfo, createServer } from "node:net";
import { dirname, join, resolve } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { temporaryFolder } from "./support/temporary-folder.ts";

const root = resolve(import.meta.dirname, "..");
const { dependencies, peerDependencies, bin } = createRequire(import.meta.url)("../package.json") as {
  dependencies: Record<string, string>;
  peerDependencies: Record<string, string>;
  bin: Record<string, string>;
};

/** The files that a file loads before its first line runs, itself included, and what of others all of it may ask for. */
async function loaded(file: string, seen: Map<string, string> = new Map()): Promise<Map<string, string>> {
  if (seen.has(file)) return seen;
  const text = await readFile(file, "utf8");
  seen.set(file, text);
  for (const [, from = ""] of text.matchAll(/^(?:import|export) [^;]*?"(\.[^"]+)";$/gm))
    await loaded(join(dirname(file), from), seen);
  return seen;
}

test.each(Object.entries(bin))(
  "what %s loads before its code can be kept compiled is small",
  async (_, file) => {
    const files = await loaded(join(root, file));
    const bytes = [...files.values()].reduce((sum, text) => sum + text.length, 0);
    expect(files.size).toBeLessThanOrEqual(2);
    expect(bytes).toBeLessThan(5_000);
  },
);

test.each(["connectServer", "connectStdio", "createSearcher", "fusionRanker", "createHttp"])(
  "the file of %s loads nothing that only the preset gateway has",
  async (name) => {
    const folder = join(root, "dist", "chunks");
    const files = await Promise.all(
      (await readdir(folder))
        .filter((file) => file.endsWith(".js"))
        .map((file) => loaded(join(folder, file))),
    );
    const own = files.filter((found) => [...found.values()][0]?.includes(`function ${name}(`));
    const reached = own
      .flatMap((found) => [...found.keys()])
      .filter((file) => /gateway-.{8}\.js$/.test(file));
    expect(own).toHaveLength(1);
    expect(reached).toEqual([]);
  },
);

test("bundled files import only declared dependencies", async () => {
  const chunks = (await readdir(join(root, "dist", "chunks"))).filter((name) => name.endsWith(".js"));
  const allowed = new Set([...Object.keys(dependencies), ...Object.keys(peerDependencies)]);
  const foreign = new Set<string>();
  for (const name of chunks) {
    const text = await readFile(join(root, "dist", "chunks", name), "utf8");
    for (const [, from = ""] of text.matchAll(/^(?:import|export) (?:[^;"]*from )?"([^."][^"]*)";$/gm))
      foreign.add(from);
    for (const [, from = ""] of text.matchAll(/\bimport\("([^."][^"]*)"\)/g)) foreign.add(from);
  }
  const getName = (from: string): string =>
    from
      .split("/")
      .slice(0, from.startsWith("@") ? 2 : 1)
      .join("/");
  const missing = [...foreign].filter((from) => !isBuiltin(from) && !allowed.has(getName(from)));
  expect(foreign.size).toBeGreaterThan(5);
  expect(missing.filter((from) => getName(from) !== "toolpipe")).toEqual([]);
});

test("the built commands ask through the proxy of the environment", async () => {
  const asked: string[] = [];
  const proxy = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", (bytes) => {
      asked.push(String(bytes).split("\r\n")[0] ?? "");
      socket.end("HTTP/1.1 403 Forbidden\r\n\r\n");
    });
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  onTestFinished(() => void proxy.close());
  const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const home = await temporaryFolder();
  const env = { PATH: process.env["PATH"], HOME: home, USERPROFILE: home, TOOLPIPE_HOME: home };
  const cli = join(root, "dist/plugins/cli/toolpipe.js");
  const child = spawn("node", [cli, "registry", "search", "docs"], {
    env: { ...env, HTTPS_PROXY: url, HTTP_PROXY: url },
    stdio: "ignore",
  });
  await once(child, "close");
  expect(asked[0]).toBe("CONNECT registry.modelcontextprotocol.io:443 HTTP/1.1");
  expect(asked.length).toBeLessThan(50);
});
