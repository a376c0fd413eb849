import { once } from "node:events";
import { chmod, mkdir, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { faulty, type Place, place } from "../../../support/place.ts";
import { runCli, runMain } from "../../../support/run-cli.ts";
import { type Serving, startServe } from "../../../support/start-serve.ts";
import { trustConfig } from "../../../support/trust-config.ts";

const demo = { preset: "passthrough", plugins: ["toolpipe/plugins/demo"] };
const running = ({ state }: Place): string => join(state, "state", "running");

/** The names of the records; they are written in the background. */
async function records(at: Place): Promise<string[]> {
  const names = await readdir(running(at)).catch(() => []);
  return names.filter((name) => name.endsWith(".json"));
}

/** Starts a gateway, and waits until it can be found. */
async function start(at: Place, args: readonly string[], cwd?: string): Promise<Serving> {
  const serving = startServe(args, { cwd });
  await eventually(async () => (await records(at)).some((name) => name.startsWith(`${serving.pid}-`)));
  return serving;
}

async function eventually(holds: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 15_000;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error("It did not come to hold.");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

describe("config reload", () => {
  test("reaches every gateway on that config and no other, and names which", async () => {
    const at = await place({
      project: {
        "a.json": { sources: [{ type: "cursor", path: "./servers.json" }] },
        "servers.json": { mcpServers: {} },
        "b.json": demo,
      },
    });
    const stdio = await start(at, ["--config", "a.json"]);
    const http = await start(at, ["--config", join(at.project, "a.json"), "--http", "0"]);
    const other = await start(at, ["--config", "b.json"]);
    const [url = ""] = /http:\S+/.exec(http.errors.join("\n")) ?? [];
    // A file that the config names is not watched, so a reload must be requested. This server never lists its tools.
    await writeFile(
      join(at.project, "servers.json"),
      JSON.stringify({ mcpServers: { one: faulty("hanginit") } }),
    );
    const link = join(at.project, "link.json");
    await symlink(join(at.project, "a.json"), link);

    const { code, stdout } = await runCli(["config", "reload", "--config", link], { cwd: at.project });
    expect(stdout).toMatch(
      new RegExp(
        `^✓ pid ${stdio.pid} \\(stdio, started \\d\\d:\\d\\d\\): reloaded, 1 server, 0 tools; 1 server did not list any yet\n` +
          `✓ pid ${http.pid} \\(${url}, started \\d\\d:\\d\\d\\): reloaded, 1 server, 0 tools; 1 server did not list any yet\n$`,
      ),
    );
    expect(code).toBe(0);
    const listed = await stdio.request("tools/call", { name: "list_mcp_servers", arguments: {} });
    expect(JSON.stringify(listed)).toContain("one");
    expect(other.errors).toEqual([]);
  }, 60_000);

  test("asks those on the config of the folder, all where there is none, and all where that is wanted", async () => {
    const at = await place({ project: { "here/toolpipe.config.json": demo, "there.json": demo } });
    const here = join(at.project, "here");
    await trustConfig(here);
    const one = await start(at, ["--http", "0"], here);
    const two = await start(at, ["--config", "there.json", "--preset", "anygpt"]);
    const asked = async (...args: string[]): Promise<number[]> => {
      const { code, stdout } = await runMain(["mcp", "config", "reload", "--json", ...args], "anygpt");
      expect(code).toBe(0);
      return (JSON.parse(stdout) as { gateways: { pid: number }[] }).gateways.map(({ pid }) => pid);
    };
    expect(await asked()).toEqual([one.pid, two.pid]);
    expect(await asked("--preset", "anygpt")).toEqual([two.pid]);
    process.chdir(here);
    expect(await asked()).toEqual([one.pid]);
    expect(await asked("--all")).toEqual([one.pid, two.pid]);

    const { stdout } = await runMain(["config", "reload"]);
    expect(stdout).toContain(`✓ pid ${one.pid} (http://127.0.0.1:`);
    expect(stdout).toContain(`\n  pid ${two.pid} (stdio, ${join(at.project, "there.json")}, started `);
    const json = await runMain(["config", "reload", "--json"]);
    expect(JSON.parse(json.stdout)).toEqual({
      gateways: [
        {
          pid: one.pid,
          config: join(here, "toolpipe.config.json"),
          preset: "passthrough",
          served: expect.stringContaining("http://127.0.0.1:"),
          startedAt: expect.any(String),
          reloaded: true,
          servers: 1,
          tools: 3,
          unlisted: 0,
        },
      ],
      others: [expect.objectContaining({ pid: two.pid, served: "stdio", preset: "anygpt" })],
    });
  }, 60_000);

  test("a gateway keeps its old config where the new one is broken, and the command gives the reason", async () => {
    const at = await place({ project: { "toolpipe.config.json": demo } });
    const file = join(at.project, "toolpipe.config.json");
    const serving = await start(at, ["--config", file]);
    await writeFile(file, '{ "preset": "anygtp" }');
    const { code, stdout } = await runMain(["config", "reload"]);
    expect(code).toBe(2);
    expect(stdout).toMatch(
      new RegExp(`^✗ pid ${serving.pid} \\(stdio, started \\S+\\): kept its old config: ${file}: preset: `),
    );
    expect(stdout).toContain('did you mean "anygpt"?');
    const { result } = await serving.request("tools/call", { name: "add", arguments: { a: 1, b: 2 } });
    expect(result).toEqual({ content: [{ type: "text", text: "3" }] });
  }, 30_000);

  test("a config that a client may use is not read again before its change is approved", async () => {
    const at = await place({ project: { "toolpipe.config.json": { preset: "passthrough" } } });
    const file = join(at.project, "toolpipe.config.json");
    expect((await runMain(["approve", "--file", file])).code).toBe(0);
    const serving = await start(at, []);
    await writeFile(file, JSON.stringify(demo));
    await serving.line("the config was not reloaded");
    const refused = await runMain(["config", "reload"], "toolpipe", { trusts: false });
    expect([refused.code, refused.stdout]).toEqual([2, expect.stringContaining("it is not approved")]);
    expect((await serving.request("tools/list"))["result"]).toEqual({ tools: [] });
    await runMain(["approve", "--file", file]);
    expect(await runMain(["config", "reload"])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("reloaded, 1 server, 3 tools"),
    });
  }, 30_000);

  test("a gateway without a config uses one from when there is one", async () => {
    const at = await place();
    const serving = await start(at, ["--http", "0"]);
    expect((await runMain(["config", "reload"])).stdout).toContain("no config file");
    const file = join(at.project, "toolpipe.config.json");
    await writeFile(file, JSON.stringify(demo));
    expect((await runMain(["config", "reload", "--all"])).stdout).toContain("reloaded, 1 server, 3 tools");
    // It is found by its new config, and follows that.
    expect((await runMain(["config", "reload", "--config", file])).stdout).toContain(`✓ pid ${serving.pid}`);
    await writeFile(file, "{ broken");
    await serving.line("the config was not reloaded");
  }, 30_000);

  test("succeeds with a notice where no gateway runs", async () => {
    const at = await place({ project: { "some.json": demo } });
    expect(await runMain(["config", "reload"])).toEqual({
      code: 0,
      stdout: "No gateway is running.\n",
      stderr: "",
    });
    expect((await runMain(["config", "reload", "--config", "some.json"])).stdout).toBe(
      `No gateway is running on ${join(at.project, "some.json")}.\n`,
    );
    expect((await runMain(["config", "reload", "--json"])).stdout).toBe('{"gateways":[],"others":[]}\n');
    expect((await runMain(["config", "reload", "--all", "--config", "some.json"])).code).toBe(1);
  });
});

describe("the record of a gateway that runs", () => {
  test.skipIf(process.platform === "win32")("is for its owner alone, and goes with it", async () => {
    const at = await place({ project: { "a.json": demo } });
    await mkdir(running(at), { recursive: true });
    await chmod(running(at), 0o755);
    const serving = await start(at, ["--config", "a.json"]);
    const [name = ""] = await records(at);
    expect((await stat(running(at))).mode & 0o777).toBe(0o700);
    expect((await stat(join(running(at), name))).mode & 0o777).toBe(0o600);
    process.kill(serving.pid, "SIGTERM");
    expect(await serving.exit).toEqual([0, null]);
    expect(await readdir(running(at))).toEqual([]);
  });

  test.skipIf(process.platform === "win32")(
    "is taken away where the gateway was killed",
    async () => {
      const at = await place({ project: { "a.json": demo } });
      const killed = await start(at, ["--config", "a.json"]);
      process.kill(killed.pid, "SIGKILL");
      await killed.exit;
      // Its process id may be another process's by now.
      const [name = ""] = await records(at);
      const record = JSON.parse(await readFile(join(running(at), name), "utf8")) as object;
      await writeFile(join(running(at), name), JSON.stringify({ ...record, pid: process.pid }));
      expect(await readdir(running(at))).toHaveLength(2);
      expect((await runMain(["config", "reload"])).stdout).toBe("No gateway is running.\n");
      expect(await readdir(running(at))).toEqual([]);

      const again = await start(at, ["--config", "a.json"]);
      process.kill(again.pid, "SIGKILL");
      await again.exit;
      // The next gateway cleans up, too: a reload may never be requested.
      await start(at, ["--config", "a.json"]);
      await eventually(async () => (await readdir(running(at))).length === 2);
    },
    30_000,
  );

  test("leads to its gateway also where the state folder has a long path", async () => {
    const at = await place({ project: { "a.json": demo } });
    const long = { ...at, state: join(at.state, "long".repeat(40)) };
    process.env["TOOLPIPE_HOME"] = long.state;
    const serving = await start(long, ["--config", "a.json"]);
    const { address } = await readRecord(long);
    expect((await runMain(["config", "reload"])).stdout).toContain(`✓ pid ${serving.pid}`);
    if (process.platform !== "win32") {
      process.kill(serving.pid, "SIGTERM");
      await serving.exit;
      await expect(stat(join(address, ".."))).rejects.toMatchObject({ code: "ENOENT" });
    }
  }, 30_000);

  test.skipIf(process.platform === "win32")(
    "leads to what does not answer, which is reported, and to another machine, which is left alone",
    async () => {
      const at = await place();
      await mkdir(running(at), { recursive: true });
      const address = join(running(at), "mute.sock");
      const mute = createServer((socket) => socket.on("data", () => socket.destroy())).listen(address);
      await once(mute, "listening");
      onTestFinished(() => void mute.close());
      const facts = {
        pid: 1,
        config: null,
        preset: "anygpt",
        served: "stdio",
        startedAt: "2026-01-02T12:00Z",
      };
      const far = { ...facts, host: "far away", address: join(running(at), "far.sock") };
      await writeFile(join(running(at), "1.json"), JSON.stringify({ ...facts, host: "here", address }));
      await writeFile(join(running(at), "2.json"), JSON.stringify(far));
      await writeFile(join(running(at), "3.json"), "{ half a rec");
      const { code, stdout } = await runMain(["config", "reload"]);
      expect(stdout).toMatch(
        /^✗ pid 1 \(stdio, no config file, started 2026-01-0\d \d\d:00\): kept its old config: It did not answer\.\n$/,
      );
      expect(code).toBe(2);
      expect(await records(at)).toContain("2.json");
    },
  );
});

async function readRecord(at: Place): Promise<{ readonly address: string }> {
  const [name = ""] = await records(at);
  return JSON.parse(await readFile(join(running(at), name), "utf8")) as { address: string };
}
