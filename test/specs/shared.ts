import { mkdtemp, realpath } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll } from "vitest";
import { createGateway, type Gateway, type GatewayOptions, type JsonObject } from "../../core/mod.ts";
import { removeFolder, writeFiles } from "../support/temporary-folder.ts";

const fixture = fileURLToPath(new URL("../fixtures/told-mcp.mjs", import.meta.url));

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
): { command: string; args: string[] } {
  return { command: process.execPath, args: [fixture, JSON.stringify({ tools, answers })] };
}

/** Opens a gateway for all rows of a file, and closes it after them. Called in `beforeAll`. */
export async function openForAll(options: GatewayOptions): Promise<Gateway> {
  const gateway = await createGateway(options);
  cleanups.push(() => gateway.close());
  return gateway;
}

/** Makes a folder with these files for all rows of a file, and removes it after them. Called in `beforeAll`. */
export async function folderForAll(files: Readonly<Record<string, string>> = {}): Promise<string> {
  const folder = await mkdtemp(join(await realpath(tmpdir()), "toolpipe-test-"));
  cleanups.push(() => removeFolder(folder));
  await writeFiles(folder, files);
  return folder;
}
