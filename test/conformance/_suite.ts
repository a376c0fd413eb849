import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Check, readChecks } from "./_checks.ts";

/** The revisions that the suite has a frozen list of scenarios for. */
export const revisions = ["2025-11-25", "2026-07-28"] as const;

/** One of them. */
export type Revision = (typeof revisions)[number];

/** The findings of a run of the suite, by scenario. */
export type Found = ReadonlyMap<string, readonly Check[]>;

/** The conformance suite of the protocol. */
export interface Suite {
  /** The scenarios that count for a revision. */
  scored(revision: Revision, side: "server" | "client"): Promise<readonly string[]>;
  /** Runs all of them against the server at a URL, or only one. */
  server(url: string, revision: Revision, scenario?: string): Promise<Found>;
  /** Runs one of them with a client that is started by this command. */
  client(command: readonly string[], revision: Revision, scenario: string): Promise<readonly Check[]>;
}

const TIMEOUT_MS = 60_000;

/** The suite in a `node_modules`, with the Node beside it if there is one: it needs Node 22. */
export function findSuite(
  programs: string | undefined = process.env["TOOLPIPE_PROGRAMS"],
): Suite | undefined {
  if (programs === undefined) return undefined;
  const file = join(programs, "@modelcontextprotocol", "conformance", "dist", "index.js");
  const own = join(programs, "node", "bin", "node");
  if (!existsSync(file)) return undefined;
  const node = existsSync(own) ? own : process.execPath;

  return {
    async scored(revision, side) {
      const { stdout } = await run(["list", "--requirements", revision]);
      const heading = side === "server" ? "Server scenarios" : "Client scenarios";
      const part = stdout.split(/\n\n+/).find((each) => each.startsWith(heading)) ?? "";
      return [...part.matchAll(/^ {2}- (\S+)$/gm)].map(([, name]) => String(name));
    },
    server(url, revision, scenario) {
      const which =
        scenario === undefined ? ["--requirements", revision] : selectScenario(scenario, revision);
      return inFolder(async (folder) => {
        await run(["server", "--url", url, ...which, "--timeout", String(TIMEOUT_MS), "-o", folder]);
        return readChecks(folder);
      });
    },
    client(command, revision, scenario) {
      const words = command.map((word) => `"${word}"`).join(" ");
      const limit = ["--timeout", String(TIMEOUT_MS)];
      return inFolder(async (folder) => {
        const given = [
          "client",
          "--command",
          words,
          ...selectScenario(scenario, revision),
          ...limit,
          "-o",
          folder,
        ];
        const { code, stderr } = await run(given);
        const checks = (await readChecks(folder)).get(scenario) ?? [];
        // The suite also asks whether the client itself ended well.
        if (code === 0 || checks.some(({ status }) => status === "FAILURE" || status === "WARNING"))
          return checks;
        return [...checks, { id: "client-exit", status: "FAILURE", errorMessage: stderr.slice(-2_000) }];
      });
    },
  };

  function run(args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> {
    return new Promise((resolve) => {
      execFile(node, [file, ...args], { maxBuffer: 2 ** 28 }, (error, stdout, stderr) =>
        resolve({ code: error ? Number(error.code ?? 1) : 0, stdout, stderr }),
      );
    });
  }
}

/** Without the last word, a scenario that is not made for a revision would be taken for one that passes. */
function selectScenario(scenario: string, revision: Revision): readonly string[] {
  return ["--scenario", scenario, "--spec-version", revision, "--force"];
}

async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "toolpipe-conformance-"));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
