import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { describe, expect, onTestFinished, test } from "vitest";
import { createDemoServers } from "../../../plugins/cli/start.ts";
import { dead, faulty, place } from "../../support/place.ts";
import { runMain } from "../../support/run-cli.ts";
import { toolpipeCommand } from "../../support/start-serve.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

interface Started {
  readonly child: ChildProcess;
  readonly exit: Promise<unknown[]>;
  readonly lines: readonly string[];
  /** Waits for a line, and returns what the pattern found in it. */
  line(pattern: RegExp): Promise<RegExpExecArray>;
}

/** `toolpipe start` as a process, with what it prints. */
function start(cwd: string, ...args: string[]): Started {
  const [command, ...own] = toolpipeCommand;
  const child = spawn(command, [...own, "start", ...args], { cwd, stdio: ["ignore", "pipe", "pipe"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const lines: string[] = [];
  const waiting = new Set<() => void>();
  const tell = (): void => {
    for (const look of waiting) look();
  };
  for (const stream of [child.stdout, child.stderr]) {
    if (!stream) continue;
    createInterface(stream).on("line", (line) => {
      lines.push(line);
      tell();
    });
  }
  const exit = once(child, "exit");
  void exit.then(tell);
  const line = (pattern: RegExp): Promise<RegExpExecArray> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const found = lines.map((one) => pattern.exec(one)).find(Boolean);
        if (found) resolve(found);
        else if (child.exitCode !== null) reject(new Error(`It has ended: ${lines.join("\n")}`));
        else return;
        waiting.delete(look);
      };
      waiting.add(look);
      look();
    });
  return { child, exit, lines, line };
}

const ADDRESS = /^Listening at (http:\/\/127\.0\.0\.1:(\d+)\/mcp)\./;

/** A client that is connected to what was started. */
async function connect(url: string): Promise<Client> {
  const client = new Client({ name: "test", version: "1" });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)) as never);
  onTestFinished(() => client.close());
  return client;
}

describe("start", () => {
  test("serves a demo of three real servers where a user has none, and reports how to connect", async () => {
    const { project } = await place();
    const temporary = await temporaryFolder();
    Object.assign(process.env, { TMPDIR: temporary, TMP: temporary, TEMP: temporary });
    const { child, exit, lines, line } = start(project, "--port", "0");
    const [, url = ""] = await line(ADDRESS);
    await line(
      /^3 servers, \d+ tools: about [\d,]+ tokens .*, \d+ through toolpipe \(\d+ % less\)\. Ctrl\+C ends this\.$/,
    );
    expect(lines[0]).toBe("toolpipe found no servers of yours, so it serves a demo of three real ones.");
    expect(lines).toContain(`  claude mcp add --transport http toolpipe ${url}`);
    expect(lines).toContain(`  {"mcpServers":{"toolpipe":{"type":"http","url":"${url}"}}}`);
    const arrived = lines.filter((one) => one.startsWith("✓"));
    expect(arrived.map((one) => /^✓ (\w+): \d+ tools$/.exec(one)?.[1]).toSorted()).toEqual([
      "everything",
      "filesystem",
      "memory",
    ]);
    const client = await connect(url);
    expect((await client.listTools()).tools).toHaveLength(5);
    const entities = [{ name: "toolpipe", entityType: "gateway", observations: ["remembers"] }];
    const call = { server: "memory", tool: "create_entities", arguments: { entities } };
    const result = await client.callTool({ name: "execute_tool", arguments: call });
    expect(result.isError).toBeFalsy();
    const [folder = ""] = (await readdir(temporary)).filter((name) => name.startsWith("toolpipe-demo-"));
    expect(await readdir(join(temporary, folder))).toEqual(["memory.jsonl"]);
    process.kill(Number(child.pid), "SIGTERM");
    expect(await exit).toEqual([0, null]);
    expect((await readdir(temporary)).filter((name) => name.startsWith("toolpipe-demo-"))).toEqual([]);
  }, 60_000);

  test("serves a user's own servers, each named as it arrives, on the next port that is free", async () => {
    const { project } = await place({
      home: { ".cursor/mcp.json": { mcpServers: { mine: faulty(), gone: dead } } },
      project: { ".mcp.json": { mcpServers: { theirs: faulty("onebadtool") } } },
    });
    // The port is taken by another process.
    const taken = createServer();
    onTestFinished(() => void taken.close());
    await new Promise<void>((resolve) => {
      taken.once("error", () => resolve());
      taken.listen(7007, "127.0.0.1", resolve);
    });
    const { child, exit, lines, line } = start(project);
    const [, url = "", port] = await line(ADDRESS);
    expect(Number(port)).toBeGreaterThan(7007);
    await line(/^1 server, \d+ tools: /);
    expect(lines[0]).toMatch(/^toolpipe serves your servers: 2 servers; 1 more need/);
    expect(lines.join("\n")).toMatch(/^✓ mine: \d+ tools$/m);
    expect(lines.join("\n")).toMatch(/^✗ gone: The command "to-be-found" could not be started/m);
    const call = { server: "mine", tool: "echo", arguments: { text: "hello" } };
    const result = await (await connect(url)).callTool({ name: "execute_tool", arguments: call });
    expect(result.content).toEqual([{ type: "text", text: "hello" }]);
    process.kill(Number(child.pid), "SIGINT");
    expect(await exit).toEqual([0, null]);
  }, 60_000);

  test("refuses a port that is none, or that is taken", async () => {
    await place();
    for (const port of ["", "x", "70000", "-1", "1.5"]) {
      expect(await runMain(["start", `--port=${port}`])).toMatchObject({ code: 1, stdout: "" });
    }
    const taken = createServer();
    onTestFinished(() => void taken.close());
    await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
    const { port } = taken.address() as { port: number };
    const { code, stderr } = await runMain(["start", "--port", String(port)]);
    expect(stderr).toBe(`The port ${port} of 127.0.0.1 is already in use.\n`);
    expect(code).toBe(2);
  });
});

test("an installed package has no demo servers, whatever else is installed with it", async () => {
  const folder = await temporaryFolder();
  expect(createDemoServers(folder, folder)).toBeUndefined();
  expect(Object.keys(createDemoServers(folder) ?? {})).toEqual(["everything", "filesystem", "memory"]);
});
