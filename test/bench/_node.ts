import { execFileSync } from "node:child_process";

/** The Node that every process of a benchmark is run with: without the same one, nothing could be compared. */
export const node: string = process.env["BENCH_NODE"] ?? process.execPath;

/** Its version. */
export function nodeVersion(): string {
  return execFileSync(node, ["--version"], { encoding: "utf8" }).trim();
}
