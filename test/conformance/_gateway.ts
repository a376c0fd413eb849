import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { toolpipeCommand } from "../bench/_root.ts";

/** A gateway that runs as a process of its own. */
export interface RunningGateway {
  readonly url: string;
  close(): Promise<void>;
}

/** Starts `toolpipe serve --http` in a home of its own, with one server behind it. */
export async function startGateway(preset: string, upstream: string): Promise<RunningGateway> {
  const home = await mkdtemp(join(tmpdir(), "toolpipe-conformance-"));
  const config = join(home, "toolpipe.config.json");
  await writeFile(
    config,
    JSON.stringify({ preset, mcpServers: { everything: { type: "http", url: upstream } } }),
  );
  const [command, ...own] = toolpipeCommand();
  const child = spawn(command, [...own, "serve", "--http", "0", "--config", config], {
    cwd: home,
    env: { ...process.env, HOME: home, USERPROFILE: home, TOOLPIPE_HOME: join(home, "own") },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const lines: string[] = [];
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const url = await new Promise<string>((resolve, reject) => {
    createInterface(child.stderr).on("line", (line) => {
      lines.push(line);
      const found = /http:\/\/\S+\/mcp/.exec(line);
      if (found) resolve(found[0]);
    });
    child.once("close", () => reject(new Error(`The gateway has ended: ${lines.join("\n")}`)));
  });
  return {
    url,
    async close() {
      child.kill();
      await ended;
      await rm(home, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
