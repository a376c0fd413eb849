import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { place, write } from "../../support/place.ts";
import { runMain } from "../../support/run-cli.ts";
import { toolpipeCommand } from "../../support/start-serve.ts";

const config = `import { demo } from "./part.ts";
process.stderr.write("EXECUTED\\n");
export default { preset: "passthrough", plugins: [demo()] };`;
const part = 'export { demo } from "toolpipe/plugins/demo";';

const untrusted = { trusts: false } as const;

test("fault 81: an approved config is used until it, or a local file that it names, changes", {
  timeout: 60_000,
}, async () => {
  const { project } = await place({ project: { "toolpipe.config.ts": config, "part.ts": part } });
  const file = join(project, "toolpipe.config.ts");
  const list = () => runMain(["list"], "toolpipe", untrusted);
  expect(await list()).toMatchObject({
    code: 2,
    stdout: "",
    stderr: expect.stringContaining(`toolpipe approve --file ${file}`),
  });
  await runMain(["approve", "--file", file], "toolpipe", untrusted);
  expect(await list()).toMatchObject({ code: 0, stdout: expect.stringContaining("demo") });

  await write(project, { "part.ts": `process.stderr.write("EXECUTED");\n${part}` });
  const changed = await list();
  expect(changed.code).toBe(2);
  expect(changed.stderr).not.toContain("EXECUTED");
  expect((await runMain(["list", "--config", "toolpipe.config.ts"], "toolpipe", untrusted)).code).toBe(0);

  await write(project, { "part.ts": part });
  expect((await list()).code).toBe(0);
  await runMain(["revoke", "--file", file], "toolpipe", untrusted);
  expect((await list()).code).toBe(2);
});

/** Only the `script` of util-linux takes a command as `-c`. */
const hasTerminal =
  spawnSync("script", ["--version"], { encoding: "utf8" }).stdout?.includes("util-linux") ?? false;

/** Runs a command at a terminal, with what its user types once it asks. */
async function runAtTerminal(
  args: readonly string[],
  typed: string,
): Promise<{ code: unknown; output: string }> {
  const line = [...toolpipeCommand, ...args].map((word) => `'${word}'`).join(" ");
  const child = spawn("script", ["-qec", line, "/dev/null"], { stdio: "pipe" });
  onTestFinished(() => void child.kill("SIGKILL"));
  let output = "";
  let isAsked = false;
  child.stdout.on("data", (chunk) => {
    output += String(chunk);
    if (isAsked || !output.includes("[y/N]")) return;
    isAsked = true;
    child.stdin.write(typed);
  });
  const [code] = await once(child, "close");
  return { code, output };
}

test.skipIf(!hasTerminal)(
  "fault 81: at a terminal the config is shown, and used after a yes alone, also later",
  { timeout: 120_000 },
  async () => {
    const long = `${"// line\n".repeat(200)}// the end\n`;
    await place({ project: { "toolpipe.config.ts": config + long, "part.ts": part } });
    const no = await runAtTerminal(["list"], "\r");
    expect(no.code).toBe(2);
    expect(no.output).toContain("more lines");
    expect(no.output).toContain("// the end");
    expect(no.output).toContain("part.ts");
    expect(no.output).not.toMatch(/EXECUTED\r?\n/);
    const yes = await runAtTerminal(["list"], "y\r");
    expect(yes).toMatchObject({ code: 0, output: expect.stringMatching(/EXECUTED\r?\n/) });
    expect((await runMain(["list"], "toolpipe", untrusted)).code).toBe(0);
  },
);
