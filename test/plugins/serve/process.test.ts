import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, test } from "vitest";
import type { JsonObject } from "../../../core/mod.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const bin =
  "Deno" in globalThis
    ? ["run", "-A", join(root, "plugins/cli/toolpipe.ts")]
    : [join(root, "dist/plugins/cli/toolpipe.js")];

const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});

/** `toolpipe serve` as a client starts it, with every line it writes. */
async function start(config: object) {
  const home = await temporaryFolder({ "toolpipe.config.json": JSON.stringify(config) });
  return startServe(home, ["serve", "--config", join(home, "toolpipe.config.json")]);
}

async function startServe(home: string, args: readonly string[]) {
  const file = join(home, "toolpipe.config.json");
  const env = { PATH: process.env["PATH"], HOME: home, TOOLPIPE_HOME: join(home, "own") };
  const child = spawn(process.execPath, [...bin, ...args], { env, cwd: home });
  children.push(child);
  const messages: JsonObject[] = [];
  const errors: string[] = [];
  const waiting: (() => void)[] = [];
  const tell = (): void => {
    for (const resolve of waiting.splice(0)) resolve();
  };
  createInterface(child.stdout).on("line", (line) => {
    if (line.startsWith("{")) messages.push(JSON.parse(line));
    tell();
  });
  createInterface(child.stderr).on("line", (line) => {
    errors.push(line);
    tell();
  });
  const until = async <T>(look: () => T | undefined): Promise<T> => {
    for (;;) {
      const found = look();
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => waiting.push(resolve));
    }
  };
  let ids = 0;
  const send = (message: object): void =>
    void child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const request = async (method: string, params?: object): Promise<JsonObject> => {
    const id = ++ids;
    send({ id, method, params });
    return until(() => messages.find((message) => message["id"] === id));
  };
  // Not `child.kill`, after which Deno calls every end one by that signal.
  const signal = (name: NodeJS.Signals): boolean => process.kill(Number(child.pid), name);
  return { child, signal, file, messages, errors, until, send, request, exit: once(child, "exit") };
}

const demo = { preset: "passthrough", plugins: ["toolpipe/plugins/demo"] };

describe("toolpipe serve", () => {
  test("reads its config again when the file changes, and tells its client", async () => {
    const server = await start({ preset: "passthrough" });
    expect((await server.request("tools/list"))["result"]).toEqual({ tools: [] });
    server.send({ method: "notifications/initialized" });
    await server.request("ping");
    await writeFile(server.file, JSON.stringify(demo));
    await server.until(() =>
      server.messages.find(({ method }) => method === "notifications/tools/list_changed"),
    );
    expect(
      (await server.request("tools/call", { name: "add", arguments: { a: 1, b: 2 } }))["result"],
    ).toEqual({
      content: [{ type: "text", text: "3" }],
    });
  });

  test("fault 56: a config that became wrong is refused, and the old one stays", async () => {
    const server = await start(demo);
    await server.request("tools/list");
    await writeFile(server.file, '{ "preset": "anygtp" }');
    const line = await server.until(() => server.errors.find((error) => error.includes("stays in use")));
    expect(line).toContain('did you mean "anygpt"?');
    await writeFile(server.file, "{ broken");
    await server.until(() =>
      server.errors.filter((error) => error.includes("stays in use")).length > 1 ? true : undefined,
    );
    expect(
      (await server.request("tools/call", { name: "add", arguments: { a: 1, b: 2 } }))["result"],
    ).toBeDefined();
  });

  test("serves over HTTP where it is asked to", async () => {
    const home = await temporaryFolder({ "toolpipe.config.json": JSON.stringify(demo) });
    const server = await startServe(home, ["serve", "--http", "0", "--config", "toolpipe.config.json"]);
    const line = await server.until(() => server.errors.find((error) => error.includes("http://")));
    const url = /http:\S+/.exec(line)?.[0] ?? "";
    const answer = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
      body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
    });
    expect(names((await answer.json()) as JsonObject)).toEqual(["add", "word_count", "countdown"]);
    server.signal("SIGTERM");
    expect(await server.exit).toEqual([0, null]);
  });

  test("ends well when its client goes", async () => {
    const server = await start(demo);
    await server.request("ping");
    server.child.stdin.end();
    expect(await server.exit).toEqual([0, null]);
  });

  test.skipIf(process.platform === "win32").each(["SIGTERM", "SIGINT"] as const)(
    "fault 45: on %s it finishes pending calls, answers them, and exits with 0",
    async (signal) => {
      const server = await start(demo);
      await server.request("ping");
      server.send({
        id: "slow",
        method: "tools/call",
        params: { name: "countdown", arguments: { from: 20 }, _meta: { progressToken: 1 } },
      });
      await server.until(() => server.messages.find(({ method }) => method === "notifications/progress"));
      server.signal(signal);
      expect(await server.exit).toEqual([0, null]);
      expect(server.messages.find(({ id }) => id === "slow")?.["result"]).toEqual({
        content: [{ type: "text", text: "Liftoff!" }],
      });
    },
  );

  test.skipIf(process.platform === "win32")("reads its config again on SIGHUP", async () => {
    const server = await start(demo);
    await server.request("ping");
    server.signal("SIGHUP");
    await server.until(() => server.errors.find((error) => error.includes("was reloaded")));
    expect((await server.request("ping"))["result"]).toEqual({});
  });
});

describe("toolpipe, started by a client in a folder with a config", () => {
  test("does not use the config before a user has approved it as it is", async () => {
    const home = await temporaryFolder({ "toolpipe.config.json": JSON.stringify(demo) });
    const before = await startServe(home, []);
    expect(names(await before.request("tools/list"))).toContain("search_tools");
    expect(before.errors.join()).toContain("it is not approved in its current form");
    before.child.stdin.end();
    await before.exit;

    const approving = await startServe(home, ["approve", "--file", "toolpipe.config.json"]);
    expect(await approving.exit).toEqual([0, null]);
    const after = await startServe(home, []);
    expect(names(await after.request("tools/list"))).toEqual(["add", "word_count", "countdown"]);
    after.child.stdin.end();
    await after.exit;

    await writeFile(
      join(home, "toolpipe.config.json"),
      JSON.stringify({ ...demo, options: { timeout: { ms: 5 } } }),
    );
    const changed = await startServe(home, ["serve"]);
    expect(names(await changed.request("tools/list"))).toContain("search_tools");
    const revoking = await startServe(home, ["revoke", "--file", "toolpipe.config.json"]);
    expect(await revoking.exit).toEqual([0, null]);
  });

  test("tells the agent and stderr which config serves and which one waits", async () => {
    const home = await temporaryFolder({ "toolpipe.config.json": '{ "mcpServers": {} }' });
    const file = join(home, "toolpipe.config.json");
    const waiting = `${file} is not used, because it is not approved in its current form.`;
    const ask = async (server: Awaited<ReturnType<typeof startServe>>, query?: string): Promise<string> => {
      const list = { name: "list_mcp_servers", arguments: {} };
      const search = { name: "search_tools", arguments: { query } };
      return JSON.stringify(await server.request("tools/call", query === undefined ? list : search));
    };
    const instructions = async (server: Awaited<ReturnType<typeof startServe>>): Promise<string> => {
      const clientInfo = { name: "test", version: "1" };
      const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
      return JSON.stringify(await server.request("initialize", params));
    };
    const fresh = await startServe(home, []);
    const instead = "The gateway serves the servers of the clients on this machine instead.";
    expect(await instructions(fresh)).toContain(waiting);
    expect(await ask(fresh)).toContain(`${waiting} To use it, read it`);
    expect(await ask(fresh)).toContain(instead);
    expect(await ask(fresh, "read a file")).toContain(instead);
    expect(fresh.errors.join("\n")).toMatch(/is not approved in its current form.* instead\.$/m);
    fresh.child.stdin.end();
    await fresh.exit;

    await (await startServe(home, ["approve", "--file", "toolpipe.config.json"])).exit;
    const running = await startServe(home, []);
    expect(await ask(running)).not.toContain("not approved");
    await writeFile(file, '{ "mcpServers": {}, "options": {} }');
    await running.until(() => running.errors.find((error) => error.includes(waiting)));
    expect(running.errors.join("\n")).toContain(
      "The gateway serves the config as it was when it was approved.",
    );
    expect(await ask(running)).toContain("The gateway serves the config as it was when it was approved.");
    const other = await running.request("tools/call", { name: "list_tools", arguments: { server: "new" } });
    expect(JSON.stringify(other)).toContain(waiting);
    await (await startServe(home, ["approve", "--file", "toolpipe.config.json"])).exit;
    running.signal("SIGHUP");
    await running.until(() => running.errors.find((error) => error.includes("was reloaded")));
    expect(await ask(running)).not.toContain("not approved");
  });
});

function names({ result }: JsonObject): string[] {
  return (result as { tools: { name: string }[] }).tools.map(({ name }) => name);
}
