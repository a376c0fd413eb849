import { mkdtemp, realpath } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll } from "vitest";
import { createGateway, type Gateway, type GatewayOptions, type JsonObject } from "../../core/mod.ts";
import { type Serving, spawnServe } from "../support/start-serve.ts";
import { removeFolder, writeFiles } from "../support/temporary-folder.ts";

/** The config of a stdio server. An alias and not an interface, so that it counts as JSON. */
export type StdioServer = {
  readonly command: string;
  readonly args: string[];
};

/** The config of a server of `test/fixtures`, run by whatever runs the tests. */
export function fixtureServer(name: string, ...args: string[]): StdioServer {
  const file = fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url));
  const run = "Deno" in globalThis ? ["run", "-A", "--no-lock", file] : [file];
  return { command: process.execPath, args: [...run, ...args] };
}

// Rows end before what they share, so nothing here can be registered by the test that uses it.
const cleanups: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const cleanUp of cleanups.toReversed()) await cleanUp();
});

/** A tool of {@link toldServer}. */
export interface ToldTool {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema?: JsonObject;
  readonly [key: string]: unknown;
}

/** The config of a real stdio server that has these tools and gives these answers; a tool without an answer never answers. */
export function toldServer(
  tools: readonly ToldTool[],
  answers: Readonly<Record<string, JsonObject>> = {},
): StdioServer {
  return fixtureServer("told-mcp.mjs", JSON.stringify({ tools, answers }));
}

/** Opens a gateway for all rows of a file, and closes it after them. Called in `beforeAll`. */
export async function openForAll(options: GatewayOptions): Promise<Gateway> {
  const gateway = await createGateway(options);
  cleanups.push(() => gateway.close());
  return gateway;
}

/** Starts `toolpipe serve` for all rows of a file, with a home of its own, and ends it after them. Called in `beforeAll`. */
export async function serveForAll(
  args: readonly string[],
  cwd: string,
): Promise<Serving & { readonly home: string }> {
  const home = await folderForAll();
  const serving = spawnServe(args, {
    cwd,
    env: { ...process.env, HOME: home, USERPROFILE: home, TOOLPIPE_HOME: join(home, "toolpipe") },
  });
  cleanups.push(async () => {
    serving.child.kill("SIGKILL");
    await serving.exit;
  });
  return { ...serving, home };
}

/** Makes a folder with these files for all rows of a file, and removes it after them. Called in `beforeAll`. */
export async function folderForAll(files: Readonly<Record<string, string>> = {}): Promise<string> {
  const folder = await mkdtemp(join(await realpath(tmpdir()), "toolpipe-test-"));
  cleanups.push(() => removeFolder(folder));
  await writeFiles(folder, files);
  return folder;
}
