import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { packageModules } from "../support/source-graph.ts";

/** For a machine that is busy with other checks. */
const TIMEOUT_MS = 60_000;
const REQUESTS = [
  {
    id: 1,
    method: "initialize",
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "check", version: "1" } },
  },
  { id: 2, method: "tools/list" },
];

/**
 * Starts `toolpipe serve` with each preset of a build. Returns "starts" where a client gets a list of tools, else the
 * last line that the process wrote.
 */
export async function startPresets(root: string): Promise<Record<string, string>> {
  if (!packageModules(root).has("toolpipe/plugins/serve")) return { serve: "is gone" };
  const presets = [...readFileSync(join(root, "presets/mod.ts"), "utf8").matchAll(/^ {2}(\w+): async/gm)];
  const starts: Record<string, string> = {};
  for (const [, preset = ""] of presets) starts[preset] = await start(root, preset);
  return starts;
}

async function start(root: string, preset: string): Promise<string> {
  const home = mkdtempSync(join(tmpdir(), "toolpipe-start-"));
  const config = join(home, "config", "toolpipe.config.json");
  mkdirSync(join(home, "config"));
  writeFileSync(config, JSON.stringify({ preset, mcpServers: {} }));
  const args = [join(root, "dist/plugins/cli/toolpipe.js"), "serve", "--config", config];
  const child = spawn(process.execPath, args, {
    cwd: home,
    env: { ...process.env, HOME: home, USERPROFILE: home, TOOLPIPE_HOME: join(home, "toolpipe") },
    timeout: TIMEOUT_MS,
    killSignal: "SIGKILL",
  });
  let lastLine = "";
  let tools: number | undefined;
  createInterface(child.stderr).on("line", (line) => {
    if (line.trim() !== "") lastLine = line;
  });
  createInterface(child.stdout).on("line", (line) => {
    const { id, result } = JSON.parse(line) as { id?: unknown; result?: { tools?: unknown[] } };
    if (id !== 2) return;
    tools = result?.tools?.length;
    child.stdin.end();
  });
  child.stdin.on("error", () => {});
  for (const request of REQUESTS) child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...request })}\n`);
  await new Promise((resolve) => child.once("close", resolve));
  rmSync(home, { recursive: true, force: true });
  return tools === undefined ? lastLine || "gives no answer" : "starts";
}
