import { existsSync, readFileSync } from "node:fs";
import { fromRoot } from "../bench/_root.ts";
import { findFaults } from "./_checks.ts";
import type { Found, Revision } from "./_suite.ts";

/** A target of the suite. */
export type Target = "fixture" | "passthrough" | "passthrough-older" | "anygpt" | "client";

/** The outcome of a run. */
export interface Outcome {
  readonly target: Target;
  readonly revision: Revision;
  readonly scored: number;
  readonly passed: number;
  /** Unexpected scenarios: those that fail, and those that no longer do. */
  readonly surprises: readonly string[];
}

/** The scenarios that are known to fail, in the form that the suite itself reads; each line says why. */
export function getBaseline(target: Target, revision: Revision): ReadonlySet<string> {
  const file = fromRoot(`test/conformance/baseline/${target}-${revision}.yml`);
  if (!existsSync(file)) return new Set();
  const lines = readFileSync(file, "utf8").matchAll(/^ {2}- (\S+) # \S.*$/gm);
  return new Set([...lines].map(([, name]) => String(name)));
}

/** Compares what was found with what is known. */
export function compareBaseline(
  target: Target,
  revision: Revision,
  scored: readonly string[],
  found: Found,
): Outcome {
  const known = getBaseline(target, revision);
  const surprises: string[] = [];
  let passed = 0;
  for (const scenario of scored) {
    const faults = findFaults(found.get(scenario));
    if (faults.length === 0) passed++;
    if (faults.length > 0 && !known.has(scenario))
      surprises.push([`${scenario} fails`, ...faults].join("\n    "));
    if (faults.length === 0 && known.has(scenario))
      surprises.push(`${scenario} passes: take it out of the baseline`);
  }
  return { target, revision, scored: scored.length, passed, surprises };
}

const titles: Readonly<Record<Target, string>> = {
  fixture: "The test server by itself",
  passthrough: "Gateway, `passthrough`, as a server",
  "passthrough-older": "Passthrough to a server of the legacy protocol",
  anygpt: "Gateway, `anygpt`, as a server",
  client: "Connections to servers, as a client",
};

/** The table for the README. */
export function formatTable(outcomes: readonly Outcome[]): string {
  const rows = outcomes.map(
    ({ target, revision, scored, passed }) => `| ${titles[target]} | ${revision} | ${passed} / ${scored} |`,
  );
  return ["| What | Revision | Scenarios passed |", "|---|---|---|", ...rows].join("\n");
}
