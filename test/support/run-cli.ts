import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { vi } from "vitest";
import { anygptProgram, main, toolpipeProgram } from "../../plugins/cli/mod.ts";
import { trustConfig } from "./trust-config.ts";

/** The outcome of a command. */
export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Which command is meant. */
export type Bin = "toolpipe" | "anygpt";

/** Runs a command as a process of its own: the build on Node, the sources on Deno. */
export async function runCli(
  args: readonly string[],
  {
    cwd,
    bin = "toolpipe",
    closeStdout = false,
    trusts = true,
  }: {
    readonly cwd: string;
    readonly bin?: Bin;
    /** Hangs up on standard output before anything is printed. */
    readonly closeStdout?: boolean;
    /** Whether the user has approved the config of the folder as it is. */
    readonly trusts?: boolean;
  },
): Promise<Finished> {
  if (trusts) await trustConfig(cwd);
  const onDeno = "Deno" in globalThis;
  const path = onDeno ? `plugins/cli/${bin}.ts` : `dist/plugins/cli/${bin}.js`;
  const file = fileURLToPath(new URL(`../../${path}`, import.meta.url));
  if (!existsSync(file)) throw new Error(`${path} is not there: run "npm run build" first.`);
  // These would turn colours off, and a test could not see that they are off by themselves.
  const { CI: _ci, TEST: _test, NO_COLOR: _noColor, ...env } = process.env;
  const child = spawn(process.execPath, [...(onDeno ? ["run", "-A"] : []), file, ...args], {
    cwd,
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const code = new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  if (closeStdout) child.stdout.destroy();
  const [stdout, stderr] = await Promise.all([closeStdout ? "" : text(child.stdout), text(child.stderr)]);
  return { code: await code, stdout, stderr };
}

/** Runs a command within this process. */
export async function runMain(
  args: readonly string[],
  bin: Bin = "toolpipe",
  { trusts = true }: { readonly trusts?: boolean } = {},
): Promise<Finished> {
  if (trusts) await trustConfig(process.cwd());
  const written = { stdout: "", stderr: "" };
  const spies = (["stdout", "stderr"] as const).map((name) =>
    vi.spyOn(process[name], "write").mockImplementation((chunk) => {
      written[name] += String(chunk);
      return true;
    }),
  );
  try {
    const code = await main(bin === "anygpt" ? anygptProgram : toolpipeProgram, [...args]);
    return { code, ...written };
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}
