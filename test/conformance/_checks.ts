import { readdir, readFile } from "node:fs/promises";
import { dirname, join, sep } from "node:path";

/** One thing that a scenario of the suite looked at. */
export interface Check {
  readonly id: string;
  readonly status: "SUCCESS" | "FAILURE" | "WARNING" | "SKIPPED" | "INFO";
  readonly errorMessage?: string;
}

/** Reads what the suite has written to a folder, by scenario. */
export async function readChecks(folder: string): Promise<Map<string, readonly Check[]>> {
  const found = new Map<string, readonly Check[]>();
  for (const file of await readdir(folder, { recursive: true })) {
    if (!file.endsWith("checks.json")) continue;
    const name = dirname(file).split(sep).join("/");
    // Folders of servers have a prefix, and all of them the time as suffix.
    const scenario = name.replace(/^server-/, "").replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, "");
    found.set(scenario, JSON.parse(await readFile(join(folder, file), "utf8")) as Check[]);
  }
  return found;
}

/** The faults among the checks of a scenario; one that was not run at all is one as well. */
export function findFaults(checks: readonly Check[] | undefined): readonly string[] {
  if (!checks || checks.length === 0) return ["it was not run to its end"];
  return checks
    .filter(({ status }) => status === "FAILURE" || status === "WARNING")
    .map(({ id, errorMessage }) => `${id}: ${errorMessage ?? "failed"}`);
}
