// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables are texts here until a server is connected
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import {
  createGateway,
  type Gateway,
  type GatewayError,
  type GatewayOptions,
  type JsonObject,
  type Plugin,
  type SettledCall,
} from "../../../core/mod.ts";
import { toServerKey } from "../../../core/services/sources.ts";
import { approvals } from "../../../plugins/approvals/mod.ts";
import { audit, memorySink } from "../../../plugins/audit/mod.ts";
import { type CacheOptions, cache } from "../../../plugins/cache/mod.ts";
import { hashDefinition } from "../../../plugins/lib/definition-files.ts";
import { mcp } from "../../../plugins/mcp/mod.ts";
import { type SourcesOptions, sources } from "../../../plugins/sources/mod.ts";
import { memoryStore, type StateOptions, state } from "../../../plugins/state/mod.ts";
import { type UpstreamsOptions, upstreams } from "../../../plugins/upstreams/mod.ts";
import { anygpt } from "../../../presets/anygpt/mod.ts";
import { closeServers, listen } from "../../fixtures/http-servers.ts";
import { createMachine, mcpServers } from "../../plugins/sources/_machine.ts";
import { getError, parseJson, readText } from "../../support/failure.ts";
import { faulty as faultyServer, isAlive, script } from "../../support/stdio-servers.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { until } from "../../support/until.ts";

let home: string;

beforeEach(async () => {
  home = await temporaryFolder();
  vi.stubEnv("TOOLPIPE_HOME", home);
  onTestFinished(() => void vi.unstubAllEnvs());
});
afterAll(closeServers);

type Entry = Readonly<Record<string, unknown>>;

/** The entry of a server that does one thing wrong. */
function faulty(mode: string, ...more: string[]): { command: string; args: readonly string[] } {
  const { command, args } = faultyServer(mode, ...more);
  return { command, args };
}

/** The entry of a server whose every start is noted, so that a test can tell how often it was started. */
function counted(name: string, { command, args }: { command: string; args: readonly string[] }): Entry {
  return {
    command: "sh",
    args: ["-c", 'echo started >> "$0"; exec "$@"', join(home, `starts-${name}`), command, ...args],
  };
}

async function countStarts(name: string): Promise<number> {
  const text = await readFile(join(home, `starts-${name}`), "utf8").catch(() => "");
  return text.split("\n").length - 1;
}

interface Options {
  readonly servers?: Readonly<Record<string, Entry>>;
  readonly sources?: SourcesOptions;
  readonly cache?: CacheOptions;
  readonly state?: StateOptions;
  readonly upstreams?: UpstreamsOptions;
  readonly configFile?: string;
  readonly plugins?: readonly Plugin[];
}

interface Opened {
  readonly gateway: Gateway;
  readonly errors: readonly GatewayError[];
  run(tool: string, args?: JsonObject): ReturnType<Gateway["run"]>;
  status(server: string): { status: string; reason: string };
}

function listening(make: (listener: Plugin) => Promise<Gateway>): Promise<Opened> {
  const errors: GatewayError[] = [];
  const listener = { name: "listener", setup: () => ({ error: (e: GatewayError) => void errors.push(e) }) };
  return make(listener).then((gateway) => {
    onTestFinished(() => gateway.close());
    return {
      gateway,
      errors,
      run: (tool, args = {}) => gateway.run({ tool, args }),
      status(server) {
        const found = gateway.services.servers?.status(server);
        if (!found) throw new Error(`There is no server "${server}".`);
        return found;
      },
    };
  });
}

/** A gateway with servers behind it and what it keeps in a folder of its own. Nothing is asked at the start. */
function openUpstreams(options: Options): Promise<Opened> {
  return listening((listener) =>
    createGateway({
      configFile: options.configFile,
      plugins: [
        listener,
        ...(options.plugins ?? []),
        state({ folder: join(home, "store"), ...options.state }),
        approvals(),
        cache({ folder: join(home, "cache"), ...options.cache }),
        sources({ mcpServers: options.servers ?? {}, ...options.sources }),
        mcp(),
        upstreams({ discover: "none", ...options.upstreams }),
      ],
    }),
  );
}

const names = ({ gateway }: Opened): string[] => gateway.catalog.tools().map(({ id }) => id);

async function readPid(opened: Opened, server: string): Promise<number> {
  return (JSON.parse(readText(await opened.run(`${server}:process`))) as { pid: number }).pid;
}

describe("a connection", () => {
  test("is opened by the first call and shared by all", async () => {
    const servers = { one: counted("one", faulty("ok")) };
    const first = await openUpstreams({ servers, upstreams: { useCache: true } });
    expect(await countStarts("one")).toBe(0);
    await first.gateway.services.servers?.refresh();
    await first.gateway.close();
    expect(await countStarts("one")).toBe(1);

    const second = await openUpstreams({ servers, upstreams: { useCache: true } });
    expect(second.status("one").status).toBe("disconnected");
    expect(await countStarts("one")).toBe(1);
    const texts = Array.from({ length: 30 }, (_, index) => `call ${index}`);
    const calls = await Promise.all(texts.map((text) => second.run("one:echo", { text })));
    expect(calls.map(readText)).toEqual(texts);
    expect(await countStarts("one")).toBe(2);
    expect(second.status("one")).toMatchObject({ status: "connected", reason: "It is connected." });
  });

  test("is opened by the first call even if the server's tools are not known yet", async () => {
    const servers = { one: counted("one", faulty("ok")), gone: { command: "no-such-command" } };
    const opened = await openUpstreams({ servers });
    const calls = ["one:echo", "one:echo", "one:none", "gone:echo", "unknown:echo"];
    const [first, second, none, gone, unknown] = await Promise.all(
      calls.map((tool) => opened.run(tool, { text: "hi" })),
    );
    expect([first, second].map((call) => readText(call as SettledCall))).toEqual(["hi", "hi"]);
    const errors = [none, gone, unknown].map((call) => getError(call as SettledCall));
    expect(errors.map(({ code }) => code)).toEqual(["TOOL_NOT_FOUND", "CONNECT_FAILED", "TOOL_NOT_FOUND"]);
    expect(errors[1]?.message).toContain("it was not found");
    expect(await countStarts("one")).toBe(1);
  });

  test("is closed when idle, but never with a call in flight", async () => {
    const servers = { late: counted("late", faulty("late")) };
    const opened = await openUpstreams({ servers, upstreams: { idleMs: 60 } });
    await opened.gateway.services.servers?.refresh();
    // The answer takes 200 ms.
    const call = opened.run("late:fault");
    const pid = await readPid(opened, "late");
    // Answered, so it was not closed meanwhile. How soon after that it is closed depends on how busy the machine is.
    expect(readText(await call)).toBe("late");
    await until(() => !isAlive(pid));
    expect(opened.status("late")).toEqual(
      expect.objectContaining({
        status: "disconnected",
        reason: "It was not used for a while; it is opened again when it is needed.",
      }),
    );
    expect(names(opened)).toContain("late:fault");
    expect(readText(await opened.run("late:echo", { text: "again" }))).toBe("again");
    expect(await readPid(opened, "late")).not.toBe(pid);
  });

  test("is opened again by the next call after its process was killed", async () => {
    const opened = await openUpstreams({ servers: { one: counted("one", faulty("ok")) } });
    await opened.gateway.services.servers?.refresh();
    for (let round = 1; round <= 3; round++) {
      const pid = await readPid(opened, "one");
      process.kill(pid, "SIGKILL");
      await until(() => opened.status("one").status === "disconnected");
      expect(opened.status("one").reason).toBe(
        "Its process was ended by SIGKILL. It is opened again when it is needed.",
      );
      expect(readText(await opened.run("one:echo", { text: "back" }))).toBe("back");
      expect(await countStarts("one")).toBe(round + 1);
    }
    expect(opened.errors).toEqual([]);
  });

  test("that ends during a call fails it at once, and the call is not made again", async () => {
    const opened = await openUpstreams({ servers: { one: counted("one", faulty("ok")) } });
    await opened.gateway.services.servers?.refresh();
    const pid = await readPid(opened, "one");
    const waiting = [opened.run("one:wait"), opened.run("one:wait")];
    // Answered after the others have been sent, for there is one pipe.
    await opened.run("one:echo", { text: "" });
    const killed = performance.now();
    process.kill(pid, "SIGKILL");
    for (const call of await Promise.all(waiting)) {
      expect(getError(call)).toMatchObject({
        code: "OUTCOME_UNKNOWN",
        message:
          'It is unknown whether "one:wait" was done: The connection to the server "one" ended: its process was ended by SIGKILL.',
        data: { reason: "UPSTREAM_CLOSED", retryable: false },
      });
    }
    expect(performance.now() - killed).toBeLessThan(10_000);
    const ended = await opened.run("one:exit");
    expect(getError(ended).code).toBe("OUTCOME_UNKNOWN");
    // One start for the listing, one for the call that ended it, and none to make either again.
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(await countStarts("one")).toBe(2);
    expect(readText(await opened.run("one:echo", { text: "back" }))).toBe("back");
  });

  test("fault 19: a server that exits right after its handshake is not started again and again", async () => {
    const file = join(home, "exits.mjs");
    await writeFile(
      file,
      `process.stdin.setEncoding("utf8").on("data", (data) => {
        if (data.includes("notifications/initialized")) process.exit(0);
        const { id, params } = JSON.parse(data.split("\\n")[0]);
        const { protocolVersion } = params;
        const serverInfo = { name: "exits", version: "1" };
        console.log(JSON.stringify({ jsonrpc: "2.0", id, result: { protocolVersion, capabilities: { tools: {} }, serverInfo } }));
      });`,
    );
    const opened = await openUpstreams({
      servers: { exits: counted("exits", script(file)), ok: faulty("ok") },
    });
    const started = performance.now();
    await opened.gateway.services.servers?.refresh();
    expect(opened.status("ok").status).toBe("connected");
    expect(opened.status("exits").status).toBe("error");
    expect(opened.status("exits").reason).toContain("ended right after it had started");
    // It is asked as fast as can be; at most it may start after 1, 3 and 7 seconds.
    while (performance.now() - started < 2_500) {
      await opened.gateway.services.servers?.refresh("exits");
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(await countStarts("exits")).toBeLessThanOrEqual(2);
    expect(opened.status("exits").status).toBe("error");
  });

  test("carries the number of calls at once that it is told, and the others wait", async () => {
    const opened = await openUpstreams({ servers: { one: faulty("late") }, upstreams: { concurrency: 2 } });
    await opened.gateway.services.servers?.refresh();
    const begun = performance.now();
    await Promise.all(Array.from({ length: 4 }, () => opened.run("one:fault")));
    expect(performance.now() - begun).toBeGreaterThan(380);
  });
});

describe("a status", () => {
  test("of each kind has a reason that helps, and no server spoils another", async () => {
    const locked = await listen((_, response) => void response.writeHead(401).end());
    const gone = await listen(() => {});
    await gone.close();
    const machine = await createMachine({
      "project/.mcp.json": mcpServers({ shared: { command: "canary", args: ["canary"] } }),
    });
    const opened = await openUpstreams({
      sources: { machine, clients: ["claude-code"] },
      servers: {
        good: faulty("ok"),
        hanging: { ...faulty("hanginit"), startTimeoutMs: 2_500 },
        missing: { command: "no-such-command" },
        unset: { command: "x", env: { KEY: "${NOT_SET_ANYWHERE}" } },
        quits: faulty("exitinit"),
        locked: { url: locked.url },
        gone: { url: gone.url },
        off: { command: "x", disabled: true },
        onebad: faulty("onebadtool"),
      },
      upstreams: { discover: "stale" },
    });
    const status = (server: string) => {
      const { status: kind, reason } = opened.status(server);
      return `${kind}: ${reason}`;
    };
    // The good ones do not wait for the one that hangs.
    await until(() => names(opened).length === 14 + 99);
    expect(status("hanging")).toBe("disconnected: It has not been used yet.");
    await opened.gateway.services.servers?.settled();
    expect(status("good")).toBe("connected: It is connected.");
    expect(status("hanging")).toBe('error: The server "hanging" was not ready within 2500 ms.');
    expect(status("missing")).toBe(
      'error: The command "no-such-command" could not be started: it was not found.',
    );
    expect(status("unset")).toBe(
      'error: The server "unset" cannot be used: its definition in inline needs NOT_SET_ANYWHERE, which is not set.',
    );
    expect(status("quits")).toBe(
      'error: The server "quits" ended before it was ready: its process ended with exit code 1.',
    );
    expect(status("locked")).toMatch(/^needs-auth: The server "locked" .*toolpipe login locked/);
    expect(status("gone")).toMatch(/^error: .*127\.0\.0\.1/);
    expect(status("off")).toBe("disconnected: It is switched off in inline.");
    expect(status("shared")).toMatch(/^needs-approval: .*\.mcp\.json, and it has not been approved yet/);
    expect(opened.gateway.services.servers?.status("onebad")?.listing?.rejected).toEqual([
      { name: "bad", reason: "its inputSchema is not an object" },
    ]);
    expect(new Set(opened.errors.map(({ code }) => code))).toEqual(
      new Set(["CONNECT_TIMEOUT", "SPAWN_FAILED", "MISSING_VARIABLE", "CONNECT_FAILED", "NEEDS_AUTH"]),
    );
    expect(JSON.stringify(opened.errors)).not.toContain("canary");
  });

  test("a server named like the preset is in error, and does not get the calls of the preset's tools", async () => {
    const servers = { anygpt: counted("anygpt", faulty("ok")), good: faulty("ok") };
    const options: GatewayOptions["options"] = {
      [audit.pluginName]: { sink: memorySink() },
      state: { folder: join(home, "store") },
      cache: { folder: join(home, "cache") },
      sources: { mcpServers: { ...servers, anygpt: { ...servers.anygpt, includeTools: ["echo"] } } },
    };
    const opened = await listening((listener) =>
      createGateway({ preset: anygpt, plugins: [listener], options }),
    );
    await opened.gateway.services.servers?.settled();
    expect(opened.status("anygpt")).toMatchObject({
      status: "error",
      reason: 'The server id "anygpt" is taken by the gateway itself. Give the server another name.',
    });
    expect(await countStarts("anygpt")).toBe(0);
    expect(opened.gateway.tools.map(({ enabled }) => enabled)).toEqual(Array(5).fill(true));
    const listed = await opened.run("anygpt:list_mcp_servers");
    expect(parseJson(listed)).toMatchObject({
      servers: expect.arrayContaining([expect.objectContaining({ name: "good", toolCount: 14 })]),
    });
  });

  test("errors of sources reach the error hooks, without a secret", async () => {
    const machine = await createMachine({
      "home/.cursor/mcp.json": '{ "mcpServers": { "a": canary',
      "home/.kimi/mcp.json": mcpServers({
        one: { command: "another", env: { KEY: "canary" } },
        bad: { command: {} },
      }),
    });
    const { errors, gateway } = await openUpstreams({
      sources: { machine, clients: ["cursor", "kimi"] },
      servers: { one: faulty("ok") },
    });
    expect(errors.map(({ code, data }) => [code, data["warning"]])).toEqual([
      ["SOURCE_BROKEN", undefined],
      ["SOURCE_DOUBTFUL", "ENTRY_INVALID"],
      ["SOURCE_DOUBTFUL", "SAME_NAME"],
    ]);
    expect(errors[0]?.message).toContain(join(".cursor", "mcp.json"));
    expect(errors[2]?.message).toMatch(/"one" is defined in the config and in .*the first one counts/);
    expect(JSON.stringify(errors)).not.toContain("canary");
    const config = gateway.services.servers?.status("one")?.config;
    expect(config?.connection).toMatchObject({ command: faulty("ok").command, env: {} });
  });
});

describe("the lists", () => {
  test("a server that announces a change is read again, and no other is started", async () => {
    const servers = { one: counted("one", faulty("ok")), two: counted("two", faulty("ok")) };
    const opened = await openUpstreams({ servers });
    const service = opened.gateway.services.servers;
    await service?.refresh("one");
    const before = service?.status("one")?.listedAt ?? 0;
    const { revision } = opened.gateway.catalog;
    expect(readText(await opened.run("one:change"))).toBe("changed");
    await until(() => (service?.status("one")?.listedAt ?? 0) > before);
    // It says the same as before, so the catalog has not moved.
    expect(opened.gateway.catalog.revision).toBe(revision);
    expect(service?.status("one")?.listing).toMatchObject({
      prompts: [{ name: "greet" }],
      resources: [{ uri: "file:///a" }],
    });
    expect([await countStarts("one"), await countStarts("two")]).toEqual([1, 0]);
  });

  test("a definition that allows or forbids tools is heeded, with and without rules", async () => {
    const opened = await openUpstreams({
      servers: {
        some: { ...faulty("ok"), includeTools: ["echo"] },
        most: { ...faulty("ok"), excludeTools: ["echo"] },
      },
    });
    await opened.gateway.services.servers?.refresh();
    const enabled = opened.gateway.catalog.tools().filter((tool) => tool.enabled);
    expect(enabled.filter(({ server }) => server === "some").map(({ name }) => name)).toEqual(["echo"]);
    expect(enabled.filter(({ server }) => server === "most")).toHaveLength(13);
    expect(readText(await opened.run("some:echo", { text: "yes" }))).toBe("yes");
    const denied = getError(await opened.run("most:echo", { text: "no" }));
    expect(denied.code).toBe("TOOL_DISABLED");
    expect(denied.message).toBe(
      '"most:echo" is disabled. It is not allowed by the definition of its server in inline.',
    );
  });

  test("a call takes no longer than its server's definition allows", async () => {
    const opened = await openUpstreams({ servers: { one: { ...faulty("ok"), callTimeoutMs: 150 } } });
    await opened.gateway.services.servers?.refresh();
    expect(getError(await opened.run("one:wait")).code).toBe("TIMEOUT");
  });
});

describe("the snapshot", () => {
  const useCache = { useCache: true, discover: "stale" } as const;

  /** Opens a gateway, waits until every server was asked, and closes it. */
  async function warm(options: Options): Promise<void> {
    const { gateway } = await openUpstreams({ upstreams: useCache, ...options });
    await gateway.services.servers?.settled();
    await gateway.close();
  }

  test("a second gateway has every tool at once and starts no server before a call", async () => {
    const servers = { one: counted("one", faulty("ok")), two: counted("two", faulty("twopages")) };
    await warm({ servers });
    const opened = await openUpstreams({ servers, upstreams: useCache });
    expect(names(opened)).toHaveLength(28);
    await opened.gateway.services.servers?.settled();
    expect([await countStarts("one"), await countStarts("two")]).toEqual([1, 1]);
    expect(readText(await opened.run("two:echo", { text: "hi" }))).toBe("hi");
    expect([await countStarts("one"), await countStarts("two")]).toEqual([1, 2]);
  });

  test("caches nothing unless configured to, nor where there is no cache", async () => {
    const servers = { one: counted("one", faulty("ok")) };
    await warm({ servers });
    for (const options of [
      { upstreams: { useCache: false } },
      { upstreams: {} },
      { upstreams: { useCache: true }, cache: { enabled: false } },
    ]) {
      const opened = await openUpstreams({ servers, ...options });
      expect(names(opened)).toEqual([]);
      expect(opened.status("one").status).toBe("disconnected");
    }
  });

  test("an outdated listing is served at once and refreshed in the background", async () => {
    const servers = { one: counted("one", faulty("ok")) };
    await warm({ servers });
    const opened = await openUpstreams({ servers, upstreams: useCache, cache: { ttl: 0 } });
    const { revision } = opened.gateway.catalog;
    expect(names(opened)).toHaveLength(14);
    expect(opened.status("one").status).toBe("disconnected");
    await opened.gateway.services.servers?.settled();
    expect(opened.status("one").status).toBe("connected");
    expect(await countStarts("one")).toBe(2);
    expect(opened.gateway.catalog.revision).toBe(revision);
  });

  test("a changed definition is asked again, and no other server is", async () => {
    const servers = { one: counted("one", faulty("ok")), two: counted("two", faulty("ok")) };
    await warm({ servers });
    const changed = { ...servers, two: counted("two", faulty("onebadtool")) };
    const opened = await openUpstreams({ servers: changed, upstreams: useCache });
    expect(names(opened)).toHaveLength(14);
    await opened.gateway.services.servers?.settled();
    expect(names(opened)).toHaveLength(14 + 99);
    expect([await countStarts("one"), await countStarts("two")]).toEqual([1, 2]);
  });

  test("two configs in one folder do not overwrite each other's", async () => {
    const one = { servers: { same: counted("one", faulty("ok")) }, configFile: join(home, "one.json") };
    const two = { servers: { same: counted("two", faulty("twopages")) }, configFile: join(home, "two.json") };
    await Promise.all([warm(one), warm(two)]);
    for (const config of [one, two]) {
      expect(names(await openUpstreams({ ...config, upstreams: useCache }))).toHaveLength(14);
    }
    expect([await countStarts("one"), await countStarts("two")]).toEqual([1, 1]);
  });

  test("fault 54: ignores a damaged file", async () => {
    const servers = { one: counted("one", faulty("ok")) };
    await warm({ servers });
    const [file = ""] = await readdir(join(home, "cache"));
    await writeFile(join(home, "cache", file), (await readFile(join(home, "cache", file))).subarray(0, -9));
    const opened = await openUpstreams({ servers, upstreams: useCache });
    expect(names(opened)).toEqual([]);
    await opened.gateway.services.servers?.settled();
    expect(names(opened)).toHaveLength(14);
    await opened.gateway.close();
    expect(names(await openUpstreams({ servers, upstreams: useCache }))).toHaveLength(14);
    expect(await countStarts("one")).toBe(2);
    expect(opened.errors).toEqual([]);
  });

  test("fault 53: without a folder to write to, everything works and one warning is heard", async () => {
    await writeFile(join(home, "file"), "");
    const opened = await openUpstreams({
      servers: { one: faulty("ok"), two: faulty("ok") },
      upstreams: useCache,
      cache: { folder: join(home, "file", "cache") },
    });
    await opened.gateway.services.servers?.settled();
    expect(names(opened)).toHaveLength(28);
    await opened.gateway.services.servers?.refresh();
    await opened.gateway.close();
    expect(opened.errors.map(({ code }) => code)).toEqual(["CACHE_UNAVAILABLE"]);
  });

  test("fault 55: gateways that use one folder at the same time leave a complete snapshot in it", async () => {
    const servers = { one: faulty("ok"), two: faulty("ok") };
    const together = await Promise.all([1, 2, 3].map(() => openUpstreams({ servers, upstreams: useCache })));
    await Promise.all(together.map(({ gateway }) => gateway.services.servers?.settled()));
    // Two close at the same moment, and the third is still there.
    await Promise.all(together.slice(1).map(({ gateway }) => gateway.close()));
    const opened = await openUpstreams({ servers, upstreams: useCache });
    expect(names(opened)).toHaveLength(28);
    expect(opened.errors).toEqual([]);
  });
});

describe("a server from a project file", () => {
  async function project(entry: Entry) {
    const machine = await createMachine({ "project/.mcp.json": mcpServers({ tool: entry }) });
    const options: Options = {
      sources: { machine, clients: ["claude-code"] },
      upstreams: { useCache: true, discover: "stale" },
    };
    return { machine, file: join(machine.project, ".mcp.json"), options };
  }

  async function settled(options: Options): Promise<Opened> {
    const opened = await openUpstreams(options);
    await opened.gateway.services.servers?.settled();
    return opened;
  }

  async function approval({ gateway }: Opened): Promise<[kind: string, name: string, hash: string]> {
    const config = gateway.services.servers?.status("tool")?.config;
    if (!config) throw new Error("The server is not there.");
    return ["server", toServerKey(config), await hashDefinition(config)];
  }

  test("is started once a user has approved that very definition, and until it is revoked", async () => {
    const entry = counted("tool", faulty("ok"));
    const { file, options } = await project(entry);
    const waiting = await settled(options);
    expect(waiting.status("tool")).toMatchObject({
      status: "needs-approval",
      reason: `It is defined in the project file ${file}, and it has not been approved yet. Approve it with: toolpipe approve tool`,
    });
    await waiting.gateway.services.servers?.refresh("tool");
    expect(names(waiting)).toEqual([]);
    expect(getError(await waiting.run("tool:echo")).code).toBe("NEEDS_APPROVAL");
    expect(await countStarts("tool")).toBe(0);
    await waiting.gateway.services.approvals?.approve(...(await approval(waiting)));
    await waiting.gateway.close();

    const approved = await settled(options);
    expect(approved.status("tool").status).toBe("connected");
    expect(readText(await approved.run("tool:echo", { text: "yes" }))).toBe("yes");
    await approved.gateway.close();

    await writeFile(file, mcpServers({ tool: { ...entry, env: { MODE: "evil" } } }));
    const changed = await settled(options);
    expect(changed.status("tool").status).toBe("needs-approval");
    expect(changed.status("tool").reason).toContain("has changed since it was approved");
    expect(names(changed)).toEqual([]);
    await changed.gateway.close();

    await writeFile(file, mcpServers({ tool: entry }));
    const restored = await settled(options);
    expect(names(restored)).toHaveLength(14);
    const [kind, name] = await approval(restored);
    expect(await restored.gateway.services.approvals?.revoke(kind, name)).toBe(true);
    await restored.gateway.close();

    const revoked = await settled(options);
    expect(revoked.status("tool").status).toBe("needs-approval");
    expect(names(revoked)).toEqual([]);
    expect(await countStarts("tool")).toBe(1);
  });

  test("is noted as waiting, with what a user needs to know and no secret", async () => {
    const { file, options } = await project({
      command: "canary-free",
      args: ["--token", "canary", "postgres://user:canary@host"],
      env: { API_KEY: "canary", REGION: "canary" },
    });
    const opened = await openUpstreams(options);
    const list = await opened.gateway.services.approvals?.list();
    expect(list).toMatchObject([
      {
        kind: "server",
        name: `tool in ${file}`,
        status: "pending",
        requested: {
          summary: "Runs: canary-free --token … postgres://host; Sets the variables: API_KEY, REGION",
        },
      },
    ]);
    await writeFile(file, mcpServers({ tool: { url: "https://user:pass@a.example/mcp?key=pass#pass" } }));
    const [remote] = (await (await openUpstreams(options)).gateway.services.approvals?.list()) ?? [];
    expect(remote?.requested?.summary).toBe("Connects to: https://a.example/mcp?…");
  });

  test("stays where it is while approvals cannot be read, and the others work", async () => {
    const { options } = await project(counted("tool", faulty("ok")));
    const fail = async (): Promise<never> => {
      throw new Error("canary");
    };
    const store = { ...memoryStore(), get: fail };
    const opened = await settled({ ...options, servers: { own: faulty("ok") }, state: { store } });
    expect(opened.status("tool").status).toBe("needs-approval");
    expect(opened.status("tool").reason).toContain("its approval could not be read");
    expect(opened.status("own").status).toBe("connected");
    expect(opened.errors).toHaveLength(1);
    expect(await countStarts("tool")).toBe(0);
  });

  test("needs no approval where it is a user's own, or stands in the config", async () => {
    const machine = await createMachine({ "home/.claude.json": mcpServers({ own: faulty("ok") }) });
    const opened = await settled({
      sources: { machine, clients: ["claude-code"] },
      servers: { config: faulty("ok", "--x") },
      upstreams: { discover: "missing" },
    });
    expect([opened.status("own").status, opened.status("config").status]).toEqual(["connected", "connected"]);
    expect(await opened.gateway.services.approvals?.list()).toEqual([]);
  });
});

describe("close", () => {
  test("leaves no process behind, however a server stands, and is soon done", async () => {
    const file = join(home, "hanging");
    const hanging = { command: "sh", args: ["-c", 'echo $$ >> "$0"; exec sleep 300', file] };
    const opened = await openUpstreams({
      servers: {
        good: faulty("ok"),
        stubborn: faulty("grandchild"),
        ...Object.fromEntries(
          Array.from({ length: 6 }, (_, index) => [
            `hanging${index}`,
            { ...hanging, env: { N: String(index) } },
          ]),
        ),
      },
      upstreams: { discover: "stale" },
    });
    const hangingPids = async () =>
      (await readFile(file, "utf8").catch(() => "")).split("\n").filter(Boolean).map(Number);
    await until(async () => names(opened).length === 28 && (await hangingPids()).length === 5);
    const processes = async (server: string) =>
      Object.values(JSON.parse(readText(await opened.run(`${server}:process`))) as object) as number[];
    const pids = [...(await processes("good")), ...(await processes("stubborn"))];
    expect([...pids, ...(await hangingPids())].map(isAlive)).toEqual(Array(8).fill(true));
    const closing = performance.now();
    await opened.gateway.close();
    expect(performance.now() - closing).toBeLessThan(10_000);
    expect(pids.map(isAlive)).toEqual([false, false, false]);
    await until(async () => !(await hangingPids()).some(isAlive), 4_000);
    // The sixth was waiting for its turn, and its caller gets an error.
    await opened.gateway.services.servers?.settled();
    expect(await hangingPids()).toHaveLength(5);
    expect(opened.errors).toEqual([]);
  });

  test("keeps listings that arrived a moment before", async () => {
    const servers = { one: faulty("ok") };
    const opened = await openUpstreams({ servers, upstreams: { useCache: true } });
    await opened.gateway.services.servers?.refresh();
    await opened.gateway.close();
    expect(names(await openUpstreams({ servers, upstreams: { useCache: true } }))).toHaveLength(14);
  });

  test("ends an idle connection that is still being closed", async () => {
    const opened = await openUpstreams({ servers: { one: faulty("ignoreterm") }, upstreams: { idleMs: 20 } });
    await opened.gateway.services.servers?.refresh();
    const pid = await readPid(opened, "one");
    await until(() => opened.status("one").status === "disconnected");
    await opened.gateway.close();
    expect(isAlive(pid)).toBe(false);
  });
});
