import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import type { ToolResult } from "../../core/mod.ts";
import type { StdioConnection } from "../../core/services/sources.ts";

const require = createRequire(import.meta.url);

/** A connection to a script, run by whatever runs the tests. */
export function script(file: string, ...args: string[]): StdioConnection {
  const run = "Deno" in globalThis ? ["run", "-A", "--no-lock", file] : [file];
  return { type: "stdio", command: process.execPath, args: [...run, ...args], env: {} };
}

/** A file of the fixtures. */
export function fixture(name: string): string {
  return fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url));
}

/** A connection to the server that does one thing wrong. */
export function faulty(mode: string, ...args: string[]): StdioConnection {
  return script(fixture("faulty-mcp.mjs"), "--mode", mode, ...args);
}

/** A connection to a server from the registry, by the name of its package. */
export function installed(name: string, ...args: string[]): StdioConnection {
  let folder = dirname(fileURLToPath(new URL("../../node_modules/x", import.meta.url)));
  folder = join(folder, name);
  const { bin } = require(join(folder, "package.json")) as { bin: string | Record<string, string> };
  const file = typeof bin === "string" ? bin : Object.values(bin)[0];
  return script(join(folder, file ?? ""), ...args);
}

/** The text of a result. */
export function readText(result: ToolResult): string {
  return result.content.map((block) => String(block["text"])).join("");
}

/** Whether a process lives; one that is dead and not yet collected does not. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return !/\) [ZX] /.test(stat);
  } catch {
    return process.platform !== "linux";
  }
}
