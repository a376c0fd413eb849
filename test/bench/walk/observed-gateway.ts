import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { node } from "../_node.ts";
import { processClient } from "../_relay/process-client.ts";
import { fromRoot } from "../_root.ts";

/** A gateway that runs unbundled, with one server, and tells which of our files run. */
export interface ObservedGateway {
  /** Calls a tool of the server through `execute_tool`. */
  call(text: string): Promise<void>;
  /** Source files with a function that ran since the last time, sorted. */
  ranFiles(): Promise<string[]>;
  close(): Promise<void>;
}

/** Starts `toolpipe serve` with the preset anygpt from `build/`, and asks for its tools. */
export async function startObserved(home: string): Promise<ObservedGateway> {
  const scripts = join(await mkdtemp(join(home, "scripts-")), "ran");
  const config = join(home, "config.json");
  const server = { command: node, args: [fromRoot("build/test/bench/_relay/upstream.js"), "s0"] };
  await writeFile(config, JSON.stringify({ preset: "anygpt", mcpServers: { s0: server } }));
  const preload = pathToFileURL(fromRoot("build/test/bench/walk/count-functions.js")).href;
  const cli = fromRoot("build/plugins/cli/toolpipe.js");
  const client = processClient(node, ["--import", preload, cli, "serve", "--config", config], {
    ...process.env,
    TOOLPIPE_HOME: home,
    TOOLPIPE_SCRIPTS: scripts,
  });
  const clientInfo = { name: "bench", version: "1" };
  await client.request("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo });
  await client.request("tools/list");
  let times = 0;
  return {
    async call(text) {
      const args = { server: "s0", tool: "get_files_s0", arguments: { text } };
      const { content } = (await client.request("tools/call", { name: "execute_tool", arguments: args })) as {
        content: { text: string }[];
      };
      if (content[0]?.text !== text) throw new Error(`Asked for "${text}", answered "${content[0]?.text}".`);
    },
    async ranFiles() {
      const file = `${scripts}.${++times}`;
      process.kill(client.pid, "SIGUSR2");
      while (!existsSync(file)) await new Promise((resolve) => setTimeout(resolve, 5));
      return toSources(JSON.parse(await readFile(file, "utf8")) as string[]);
    },
    close: () => client.end(),
  };
}

/** Runs something with a folder for state, which is removed afterwards. */
export async function withHome<T>(run: (home: string) => Promise<T>): Promise<T> {
  const home = await mkdtemp(join(tmpdir(), "toolpipe-walk-"));
  try {
    return await run(home);
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

/** The source files of scripts in `build/`; packages and the benchmark itself are left out. */
function toSources(urls: readonly string[]): string[] {
  return urls
    .filter((url) => url.startsWith("file:"))
    .map((url) => relative(fromRoot("build"), fileURLToPath(url)).replaceAll("\\", "/"))
    .filter((path) => /^(core|plugins|presets|playground)\//.test(path))
    .map((path) => path.replace(/\.js$/, ".ts"))
    .sort();
}
