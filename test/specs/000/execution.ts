import {
  type ExecutionError,
  type ExecutionResult,
  ServerConnectionError,
  ToolExecutionProxy,
} from "toolpipe/anygpt";
import { expect } from "vitest";
import { createDiscoveryEngine } from "../../../presets/anygpt/mod.ts";
import { runMain } from "../../support/run-cli.ts";
import { isAlive } from "../../support/stdio-servers.ts";
import { removeFolder } from "../../support/temporary-folder.ts";
import { until } from "../../support/until.ts";
import type { Specification } from "../specification.ts";
import { createdIssue, servers, toEntries } from "../stage.ts";
import { findTypeFaults } from "./types.ts";
import { closeLater, openEngine, world, writeProject } from "./world.ts";

const { github, faulty, limited, dead } = servers;
const given = { repo: "owner/repo", title: "Bug report" };
const withinMs = 20_000;
/** The script that the servers of the world run. */
const script = github.args.find((each) => each.endsWith(".mjs")) ?? "";

/** Creates a proxy whose connections end with the world. */
function createProxy(...args: ConstructorParameters<typeof ToolExecutionProxy>): ToolExecutionProxy {
  const proxy = new ToolExecutionProxy(...args);
  return closeLater(proxy, () => Promise.all(["github", "faulty"].map((name) => proxy.disconnect(name))));
}

/** Returns the id of the process behind a server. */
async function readPid(proxy: Pick<ToolExecutionProxy, "execute">): Promise<number> {
  const { result } = await proxy.execute("faulty", "process", {});
  return (result as { pid: number }).pid;
}

/** Lines 233 to 277: the proxy. Lines 609 to 627: its tasks. */
export function executionRows({ row, added, prose }: Specification): void {
  prose(233, 237, 244, 273, 609, 611, 613, 622);

  row(
    "235, 239, 261, 614, 616, 620, 624",
    "A call of a tool is sent to its real server, and its answer comes back.",
    async () => {
      const proxy = createProxy({ github, faulty });
      expect(await proxy.execute("github", "create_issue", given)).toEqual({
        success: true,
        result: createdIssue,
      });
      const said = "words as they are: äöü";
      expect(await proxy.execute("faulty", "echo", { text: said })).toEqual({ success: true, result: said });
    },
  );

  row("238, 264, 615, 623", "connect() starts a server on stdio, and says why that fails.", async () => {
    const proxy = createProxy();
    await proxy.connect("github", github);
    expect(proxy.isConnected("github")).toBe(true);
    const failure = await proxy.connect("faulty", dead).catch((thrown: unknown) => thrown);
    expect(failure).toBeInstanceOf(ServerConnectionError);
    expect(failure).toMatchObject({ server: "faulty", message: expect.stringContaining(dead.command) });
    expect(proxy.isConnected("faulty")).toBe(false);
  });

  row("240, 618, 625", "A failure of a tool or of its server is an outcome, and no exception.", async () => {
    const proxy = createProxy({ github: limited, faulty });
    expect(await proxy.execute("github", "create_issue", given)).toMatchObject({ success: false });
    expect(await proxy.execute("faulty", "error", {})).toMatchObject({ success: false });
    expect(await proxy.execute("nowhere", "tool", {})).toMatchObject({ success: false });
  });

  row(
    "241, 268-270, 619, 673",
    "executeStream yields progress as it comes, and the outcome at last.",
    async () => {
      expect(await findTypeFaults("ToolExecutionProxy")).toEqual([]);
      const iterator: AsyncIterator<unknown> = createProxy({ faulty }).executeStream("faulty", "steps", {});
      const events: unknown[] = [];
      for (let next = await iterator.next(); !next.done; next = await iterator.next())
        events.push(next.value);
      expect(events).toMatchObject([
        { type: "progress", progress: 1, message: "step 1" },
        { type: "progress", progress: 2 },
        { type: "progress", progress: 3 },
        { type: "result", success: true, result: "done" },
      ]);
    },
  );

  row("242, 263-266", "A connection begins with connect, and ends with disconnect.", async () => {
    const proxy = createProxy();
    expect(proxy.isConnected("faulty")).toBe(false);
    await proxy.connect("faulty", faulty);
    const pid = await readPid(proxy);
    expect([proxy.isConnected("faulty"), isAlive(pid)]).toEqual([true, true]);
    await proxy.disconnect("faulty");
    expect(proxy.isConnected("faulty")).toBe(false);
    await until(() => !isAlive(pid), withinMs);
  });

  row(
    "246-250",
    "An outcome has success, and either a result or an error; the result is the tool's own value.",
    async () => {
      expect(await findTypeFaults("ExecutionResult")).toEqual([]);
      const done: ExecutionResult = await world.engine.executeTool("github", "create_issue", given);
      expect(done).toEqual({ success: true, result: createdIssue });
      expect(done.result.issue_number).toBe(createdIssue.issue_number);
      const failed = await world.engine.executeTool("limited", "create_issue", given);
      expect(Object.keys(failed)).toEqual(["success", "error"]);
    },
  );

  row("252-257", "An error has code, message, server and tool.", async () => {
    expect(await findTypeFaults("ExecutionError")).toEqual([]);
    const { error } = await world.engine.executeTool("limited", "create_issue", given);
    const whole: ExecutionError | undefined = error;
    expect(whole).toEqual({
      code: "TOOL_EXECUTION_ERROR",
      message: "Failed to create issue: API rate limit exceeded",
      server: "limited",
      tool: "create_issue",
    });
  });

  row(
    "259-260, 274",
    "A server is started by the first call of one of its tools, and not before.",
    async () => {
      const proxy = createProxy({ faulty });
      expect(proxy.isConnected("faulty")).toBe(false);
      expect(await proxy.execute("faulty", "echo", { text: "x" })).toMatchObject({ success: true });
      expect(proxy.isConnected("faulty")).toBe(true);
    },
  );

  row("275, 617, 626", "One process serves all calls, one after another and at once.", async () => {
    const proxy = createProxy({ faulty });
    const pids = [await readPid(proxy), await readPid(proxy)];
    pids.push(...(await Promise.all(Array.from({ length: 8 }, () => readPid(proxy)))));
    expect(new Set(pids).size).toBe(1);
  });

  row(
    "276, 627",
    "A connection without use is closed, after five minutes unless the config says otherwise, and opened again when needed.",
    async () => {
      const { stdout } = await runMain(["config", "options", "upstreams"]);
      expect(stdout.replaceAll(/\s+/g, " ")).toMatch(/idleMs.*?300000/);
      const upstreams = { idleMs: 50 };
      const engine = await createDiscoveryEngine(
        { servers: toEntries(["faulty"]) },
        { options: { upstreams } },
      );
      closeLater(engine, () => engine.close());
      const execute = (server: string, name: string, args: object) => engine.executeTool(server, name, args);
      const pid = await readPid({ execute });
      await until(() => !isAlive(pid), withinMs);
      await until(async () => (await engine.listServers())[0]?.status === "disconnected", withinMs);
      expect(await readPid({ execute })).not.toBe(pid);
    },
  );

  row("277", "After a connection was lost or could not be made, it is made again by itself.", async () => {
    const proxy = createProxy({ faulty });
    const pid = await readPid(proxy);
    expect(await proxy.execute("faulty", "exit", {})).toMatchObject({ success: false });
    await until(async () => (await proxy.execute("faulty", "echo", { text: "x" })).success, withinMs);
    expect(await readPid(proxy)).not.toBe(pid);

    const path = `${world.project}/late.mjs`;
    const args = github.args.slice(0, -1).map((each) => (each === script ? path : each));
    const entry = { name: "late", connection: { type: "stdio", command: github.command, args } };
    const engine = openEngine({ enabled: true, servers: [entry] });
    expect(await engine.listServers()).toMatchObject([{ status: "disconnected", toolCount: 0 }]);
    const told = { tools: [{ name: "here" }] };
    await writeProject(
      "late.mjs",
      `process.argv[2] = ${JSON.stringify(JSON.stringify(told))};\nawait import(${JSON.stringify(script)});`,
    );
    await until(async () => (await engine.listServers())[0]?.toolCount === 1, withinMs);
  });

  added(
    "264, 274",
    "connect() connects also where the tools are known from an earlier run, and fails where the server is gone since.",
    "With its cached listing alone a server would seem to be there.",
    async () => {
      const path = await writeProject("gone.mjs", `await import(${JSON.stringify(script)});`);
      const config = {
        command: github.command,
        args: github.args.map((each) => (each === script ? path : each)),
      };
      const first = createProxy();
      await first.connect("github", config);
      expect(first.isConnected("github")).toBe(true);
      await first.disconnect("github");
      await first.connect("github", config);
      expect(first.isConnected("github")).toBe(true);
      await first.disconnect("github");
      await removeFolder(path);
      await expect(createProxy().connect("github", config)).rejects.toThrow(ServerConnectionError);
    },
  );
}
