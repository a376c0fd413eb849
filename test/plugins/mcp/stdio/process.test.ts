import { spawn } from "node:child_process";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { describe, expect, onTestFinished, test } from "vitest";
import { createEnvironment } from "../../../../plugins/mcp/stdio/connect.ts";
import { type Child, type ChildCommand, startChild } from "../../../../plugins/mcp/stdio/process.ts";
import { faulty, fixture, isAlive, readText } from "../../../support/stdio-servers.ts";
import { until } from "../../../support/until.ts";
import { connected } from "../_stdio.ts";

const env = { PATH: process.env["PATH"] ?? "" };

interface Started extends Child {
  output(): string;
  readonly ended: Promise<string>;
}

async function started(command: Partial<ChildCommand> & { command: string }): Promise<Started> {
  let output = "";
  let end: (reason: string) => void = () => {};
  const ended = new Promise<string>((resolve) => {
    end = resolve;
  });
  const onOutput = (chunk: Uint8Array): void => {
    output += new TextDecoder().decode(chunk);
  };
  const child = await startChild({ args: [], env, ...command }, { onOutput, onEnded: end });
  onTestFinished(() => child.close());
  return { ...child, output: () => output, ended };
}

function shell(line: string, rest: Partial<ChildCommand> = {}): Promise<Started> {
  return started({ command: "sh", args: ["-c", line], ...rest });
}

/** Runs a fixture in a process of its own, after a line of shell. */
async function run(file: string, before = ""): Promise<{ code: unknown; output: string }> {
  const jiti = join(createRequire(import.meta.url).resolve("jiti/package.json"), "../lib/jiti-cli.mjs");
  const args = "Deno" in globalThis ? ["run", "-A", fixture(file)] : [jiti, fixture(file)];
  const line = `${before}exec "$0" "$@"`;
  const child = spawn("sh", ["-c", line, process.execPath, ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.on("data", (chunk) => {
    output += chunk;
  });
  const code = await new Promise((resolve) => child.on("close", resolve));
  return { code, output };
}

describe("the environment of a process", () => {
  test("extra: nothing of ours leaks but what every program needs", async () => {
    process.env["TOOLPIPE_CANARY"] = "canary";
    process.env["TOOLPIPE_NAMED"] = "named";
    onTestFinished(() => {
      delete process.env["TOOLPIPE_CANARY"];
      delete process.env["TOOLPIPE_NAMED"];
    });
    const connection = { ...faulty("ok"), env: { OWN: "value" }, envNames: ["TOOLPIPE_NAMED"] };
    await using upstream = await connected(connection);
    const seen = JSON.parse(readText(await upstream.call("environment", {})));
    expect(seen).toMatchObject({ OWN: "value", TOOLPIPE_NAMED: "named", PATH: process.env["PATH"] });
    expect(JSON.stringify(seen)).not.toContain("canary");
    const allowed = /^(PATH|HOME|USER|LOGNAME|LANG|LC_.*|TZ|TMPDIR|TERM|SHELL|OWN|TOOLPIPE_NAMED)$/;
    expect(Object.keys(seen).filter((name) => !allowed.test(name))).toEqual([]);
  });

  test("variables of a definition override inherited ones", () => {
    const own = { PATH: "/ours", HOME: "/home/us", LC_ALL: "C", SECRET: "s", EMPTY: undefined };
    expect(createEnvironment({ env: { PATH: "/theirs" } }, own, "linux")).toEqual({
      PATH: "/theirs",
      HOME: "/home/us",
      LC_ALL: "C",
    });
  });

  test("on Windows the case of a name means nothing", () => {
    const own = { Path: "C:\\ours", SystemRoot: "C:\\Windows", token: "s", Named: "n", HOME: "x" };
    const given = { env: { PATH: "C:\\theirs" }, envNames: ["NAMED"] };
    expect(createEnvironment(given, own, "win32")).toEqual({
      PATH: "C:\\theirs",
      SystemRoot: "C:\\Windows",
      Named: "n",
    });
  });
});

describe("fault 18: a command that cannot be started", () => {
  async function failure(command: Partial<ChildCommand> & { command: string }): Promise<unknown> {
    return started(command).then(
      () => "started",
      (error: unknown) => error,
    );
  }

  test("is named, without its arguments or variables", async () => {
    const error = await failure({
      command: "/no/such/thing-mcp",
      args: ["--key=canary"],
      env: { KEY: "canary" },
    });
    expect(error).toMatchObject({
      code: "SPAWN_FAILED",
      message: 'The command "thing-mcp" could not be started: it was not found.',
    });
  });

  test("is named without what stands behind it in the same string", async () => {
    const error = await failure({ command: "thing-mcp --key canary/TOKEN=canary" });
    expect(error).toMatchObject({
      code: "SPAWN_FAILED",
      message: 'The command "thing-mcp" could not be started: it was not found; arguments belong in "args".',
    });
  });

  test("reports that it is not executable", async () => {
    const folder = await mkdtemp(join(tmpdir(), "toolpipe-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const file = join(folder, "plain.txt");
    await writeFile(file, "no program");
    await chmod(file, 0o644);
    expect(await failure({ command: file })).toMatchObject({
      code: "SPAWN_FAILED",
      message: 'The command "plain.txt" could not be started: it may not be run.',
    });
  });

  test("reports that its folder is missing, since the system blames the command", async () => {
    expect(await failure({ command: "sh", cwd: "/no/such/folder" })).toMatchObject({
      code: "SPAWN_FAILED",
      message: 'The command "sh" could not be started: its working folder does not exist.',
    });
  });

  test("reports that too many files are open, and can be started later", async () => {
    const { code, output } = await run("too-many-files.ts", "ulimit -n 64; ");
    const [error = "", count] = output.trim().split("\n");
    expect(JSON.parse(error)).toEqual({
      code: "SPAWN_FAILED",
      message: 'The command "sleep" could not be started: too many files are open.',
      data: {},
    });
    expect(Number(count)).toBeGreaterThan(0);
    expect(code).toBe(0);
  });

  test("fails as well where an argument cannot be passed at all", async () => {
    expect(await failure({ command: "sh", args: ["a\0b"] })).toMatchObject({ code: "SPAWN_FAILED" });
  });
});

describe("the end of a process", () => {
  test("is told with the exit code, after all that it wrote", async () => {
    const child = await shell("echo last words; exit 3");
    expect(await child.ended).toBe("its process ended with exit code 3");
    expect(child.output()).toBe("last words\n");
    await expect(child.write("too late")).rejects.toMatchObject({
      code: "UPSTREAM_CLOSED",
      data: { sent: false },
    });
  });

  test("is told with the signal", async () => {
    const child = await shell("kill -9 $$");
    expect(await child.ended).toBe("its process was ended by SIGKILL");
  });

  test("is not held up by a grandchild that keeps the output open", async () => {
    const child = await shell("sleep 600 & echo $!; exit 0");
    expect(await child.ended).toBe("its process ended with exit code 0");
    const grandchild = Number(child.output());
    await child.close();
    expect(isAlive(grandchild)).toBe(false);
  });

  test("is also the end of its output", async () => {
    const child = await shell("exec >&-; sleep 600");
    expect(await child.ended).toBe("its process closed its output");
    await child.close();
    expect(isAlive(child.pid)).toBe(false);
  });

  test("fault 15: a process that closed its input is abandoned at the first write, and nothing is thrown", async () => {
    const child = await shell("exec 0<&-; echo closed; sleep 600");
    await until(() => child.output() === "closed\n");
    const began = performance.now();
    await expect(child.write("anyone there?\n")).rejects.toMatchObject({ code: "UPSTREAM_CLOSED" });
    expect(await child.ended).toBe("its process closed its input");
    expect(performance.now() - began).toBeLessThan(10_000);
  });

  test("fault 15: calls fail at once when the server has closed its input", async () => {
    const result = {
      protocolVersion: "2025-11-25",
      capabilities: {},
      serverInfo: { name: "sh", version: "1" },
    };
    const answer = JSON.stringify({ jsonrpc: "2.0", id: 0, result });
    const server = `read -r first; echo '${answer}'; read -r second; exec 0<&-; echo closed >&2; sleep 600`;
    let reason = "";
    const events = { onClosed: (why: string) => (reason = why) };
    await using upstream = await connected(
      { type: "stdio", command: "sh", args: ["-c", server], env: {} },
      { events },
    );
    await until(() => upstream.health().stderr === "closed\n");
    const began = performance.now();
    await expect(upstream.call("echo", {}, { timeoutMs: 30_000 })).rejects.toMatchObject({
      code: "UPSTREAM_CLOSED",
    });
    expect(performance.now() - began).toBeLessThan(10_000);
    await until(() => reason === "its process closed its input");
  });

  test("fault 16: a process that does not read is ended after the write deadline, and little is kept for it", async () => {
    const child = await shell("exec sleep 600", { writeDeadlineMs: 300 });
    const megabyte = "x".repeat(1_000_000);
    const writes = await Promise.allSettled(Array.from({ length: 30 }, () => child.write(megabyte)));
    const codes = writes.map((write) => (write.status === "rejected" ? write.reason.code : "written"));
    expect(codes.filter((code) => code === "UPSTREAM_STALLED").length).toBeGreaterThanOrEqual(13);
    expect(codes.filter((code) => code === "UPSTREAM_CLOSED").length).toBeGreaterThanOrEqual(10);
    expect(await child.ended).toBe("its process did not read its input for 300 ms");
    await child.close();
    expect(isAlive(child.pid)).toBe(false);
  });

  test("fault 16: a slow reader is not taken for a dead one", async () => {
    // Each message is read in time, all of them together are not.
    const child = await shell("while dd bs=100000 count=1 of=/dev/null 2>/dev/null; do sleep 0.05; done", {
      writeDeadlineMs: 1_000,
    });
    const began = performance.now();
    await Promise.all(Array.from({ length: 30 }, () => child.write("x".repeat(100_000))));
    expect(performance.now() - began).toBeGreaterThan(1_000);
  });

  test("fault 16: calls of a server that stops reading fail, and its process is gone", async () => {
    await using upstream = await connected(faulty("noread"), { writeDeadlineMs: 300 });
    await upstream.call("fault", {});
    const { pid } = upstream.health();
    const text = "x".repeat(900_000);
    const call = upstream.call("echo", { text }, { timeoutMs: 30_000 });
    await expect(call).rejects.toMatchObject({
      code: "UPSTREAM_CLOSED",
      message: expect.stringContaining("did not read its input"),
    });
    await until(() => !isAlive(pid ?? 0));
  });
});

describe("closing", () => {
  test("lets a process that heeds the end of its input finish its work", async () => {
    const child = await shell("cat >/dev/null; sleep 0.2; echo tidy >&2; exit 0");
    await child.close();
    expect(child.errorOutput()).toBe("tidy\n");
  });

  test("fault 17: a process and a grandchild that ignore the signal are dead within 5 s, and not before it resolves", async () => {
    const upstream = await connected(faulty("ignoreterm"));
    const pids = JSON.parse(readText(await upstream.call("process", {}))) as {
      pid: number;
      grandchild: number;
    };
    expect(isAlive(pids.pid) && isAlive(pids.grandchild)).toBe(true);
    const began = performance.now();
    await upstream.close();
    expect(performance.now() - began).toBeLessThan(5_000);
    expect(isAlive(pids.pid)).toBe(false);
    expect(isAlive(pids.grandchild)).toBe(false);
  });

  test("fault 17: a grandchild behind a shell, as npx starts it, is dead too", async () => {
    const child = await shell("sh -c 'trap \"\" TERM; echo $$; while :; do sleep 1; done'; echo never");
    await until(() => child.output() !== "");
    const grandchild = Number(child.output());
    await child.close();
    expect(isAlive(grandchild)).toBe(false);
    expect(isAlive(child.pid)).toBe(false);
  });

  test("a process that crashed takes its grandchildren with it", async () => {
    let closed = false;
    const upstream = await connected(faulty("grandchild"), { events: { onClosed: () => (closed = true) } });
    const { grandchild } = JSON.parse(readText(await upstream.call("process", {}))) as { grandchild: number };
    await expect(upstream.call("exit", {})).rejects.toMatchObject({
      code: "UPSTREAM_CLOSED",
      message: 'The connection to the server "test" ended: its process ended with exit code 3.',
    });
    expect(closed).toBe(true);
    await until(() => !isAlive(grandchild));
  });

  test("processes do not outlive ours, even if they were not closed", async () => {
    const { code, output } = await run("exits-early.ts");
    expect(code).toBe(0);
    const pids = output.trim().split(" ").map(Number);
    expect(pids).toHaveLength(2);
    await until(() => pids.every((pid) => !isAlive(pid)));
  });
});

test("the error output is kept up to 64 KB, the last of it", async () => {
  const child = await shell(
    'i=0; while [ $i -lt 3000 ]; do echo "line $i of the log, padded to a length" >&2; i=$((i+1)); done',
  );
  await child.ended;
  expect(child.errorOutput()).toHaveLength(65_536);
  expect(child.errorOutput().endsWith("line 2999 of the log, padded to a length\n")).toBe(true);
  expect(child.errorOutput()).toContain("line 2000 of the log, padded to a length\nline 2001 of");
});
