import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { faulty, place, write } from "../../support/place.ts";
import { runMain } from "../../support/run-cli.ts";
import { toolpipeCommand } from "../../support/start-serve.ts";
import { trustConfig } from "../../support/trust-config.ts";

vi.setConfig({ testTimeout: 60_000 });

describe("execute --stream", () => {
  test("prints what a tool tells on its way, and then its result", async () => {
    await place({ project: { "toolpipe.config.json": { mcpServers: { one: faulty() } } } });
    expect(await runMain(["execute", "one", "steps", "--stream"])).toEqual({
      code: 0,
      stdout:
        "Executing: one:steps\n\n… 1 of 3: step 1\n… 2 of 3: step 2\n… 3 of 3: step 3\n\n✓ Success\n\nResult:\n  done\n",
      stderr: "",
    });
    // Without it, only the result.
    expect((await runMain(["execute", "one", "steps"])).stdout).toBe(
      "Executing: one:steps\n\n✓ Success\n\nResult:\n  done\n",
    );
  });

  test("with --json prints one object a line, the last of which is the result", async () => {
    await place({ project: { "toolpipe.config.json": { mcpServers: { one: faulty() } } } });
    const lines = (await runMain(["execute", "one", "steps", "--stream", "--json"])).stdout.split("\n");
    expect(lines.filter(Boolean).map((line) => JSON.parse(line))).toEqual([
      { type: "progress", progress: 1, total: 3, message: "step 1" },
      { type: "progress", progress: 2, total: 3, message: "step 2" },
      { type: "progress", progress: 3, total: 3, message: "step 3" },
      { type: "result", success: true, result: "done" },
    ]);
    const failed = await runMain(["execute", "one", "fail", "--stream", "--json"]);
    expect(JSON.parse(failed.stdout)).toEqual({
      type: "result",
      success: false,
      error: { code: "TOOL_EXECUTION_ERROR", message: "It did not work.", server: "one", tool: "fail" },
    });
    expect(failed.code).toBe(3);
  });
});

/** Calls a tool that never answers, as a process, and sends a signal once it has told of its third step. */
async function interrupt(signal: NodeJS.Signals, ...args: string[]) {
  const { project } = await place();
  const cancelled = join(project, "cancelled");
  const fixture = fileURLToPath(new URL("../../fixtures/told-mcp.mjs", import.meta.url));
  const one = { command: "node", args: [fixture, JSON.stringify({ tools: [{ name: "wait" }], cancelled })] };
  await write(project, { cancelled: "", "toolpipe.config.json": { mcpServers: { one } } });
  await trustConfig(project);
  const [command, ...own] = toolpipeCommand;
  const child = spawn(command, [...own, "execute", "one", "wait", "--stream", ...args], { stdio: "pipe" });
  onTestFinished(() => void child.kill("SIGKILL"));
  const ended = once(child, "close");
  let stdout = "";
  let stderr = "";
  child.stderr.on("data", (chunk) => {
    stderr += String(chunk);
  });
  child.stdout.on("data", (chunk) => {
    const before = stdout.includes("part 3");
    stdout += String(chunk);
    // It came while the call was still on its way, or there would be nothing to interrupt. Not `child.kill`: on
    // Deno, a process that was killed so has no exit code.
    if (!before && stdout.includes("part 3")) process.kill(Number(child.pid), signal);
  });
  const [code] = await ended;
  return { code, stdout, stderr, cancelled: await readFile(cancelled, "utf8") };
}

describe.skipIf(process.platform === "win32")("a call that is interrupted", () => {
  test("by Ctrl+C is cancelled at its server, and ends with exit code 130", async () => {
    const { code, stdout, stderr, cancelled } = await interrupt("SIGINT");
    expect(stdout).toBe(
      "Executing: one:wait\n\n… 1 of 9: part 1\n… 2 of 9: part 2\n… 3 of 9: part 3\n\n✗ Error\n\nCode: TOOL_EXECUTION_ERROR\nMessage: The call was interrupted.\nServer: one\nTool: wait\n",
    );
    expect(cancelled).toMatch(/^\d+\n$/);
    expect({ code, stderr }).toEqual({ code: 130, stderr: "" });
  });

  test("by SIGTERM ends with exit code 143, and with --json in a last line of JSON", async () => {
    const { code, stdout, cancelled } = await interrupt("SIGTERM", "--json");
    const lines = stdout.trimEnd().split("\n");
    expect(lines.map((line) => JSON.parse(line).type)).toEqual([
      "progress",
      "progress",
      "progress",
      "result",
    ]);
    expect(JSON.parse(lines.at(-1) ?? "")).toMatchObject({ success: false });
    expect(cancelled).not.toBe("");
    expect(code).toBe(143);
  });

  test("a server that is only being started ends with any command", async () => {
    const { project } = await place();
    // It does not heed the end of its input.
    const script = `process.on("SIGTERM", () => {}); require("node:fs").writeFileSync("pid", String(process.pid)); setInterval(() => {}, 1000);`;
    await write(project, {
      "toolpipe.config.json": {
        mcpServers: { deaf: { command: "node", args: ["-e", script], cwd: project } },
      },
    });
    await trustConfig(project);
    for (const args of [["list"], ["execute", "deaf", "any"]]) {
      await write(project, { pid: "" });
      const [command, ...own] = toolpipeCommand;
      const child = spawn(command, [...own, ...args], { stdio: "ignore" });
      onTestFinished(() => void child.kill("SIGKILL"));
      const ended = once(child, "close");
      const pid = await vi.waitFor(
        async () => {
          const text = await readFile(join(project, "pid"), "utf8");
          if (text === "") throw new Error("It has not been started yet.");
          return Number(text);
        },
        { timeout: 30_000, interval: 20 },
      );
      process.kill(Number(child.pid), "SIGINT");
      expect(await ended).toEqual([130, null]);
      await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow("ESRCH"), { timeout: 10_000 });
    }
  });
});
