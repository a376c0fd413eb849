import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text as readText } from "node:stream/consumers";
import { describe, expect, onTestFinished, test } from "vitest";
import type { RegistryEntry } from "../../../core/services/registries.ts";
import type { MirrorParts } from "../../../plugins/registries/mirror.ts";
import { createMirror, createRegistryClient, type Mirror } from "../../../plugins/registries/mod.ts";
import { catchFailure } from "../../support/failure.ts";
import { createTestCache } from "../../support/services.ts";
import { toolpipeCommand } from "../../support/start-serve.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { body, silence, startRegistry, status, type TestRegistry, type Wire, wire } from "./_registry.ts";

const at = (minute: number): string => new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString();
const NOW = Date.UTC(2026, 5, 1);

function openMirror(
  registries: readonly TestRegistry[],
  folder: string,
  more: Partial<MirrorParts> = {},
): Mirror {
  const client = createRegistryClient(
    { registries: registries.map(({ url }) => url), pageSize: 10 },
    { wait: async () => {} },
  );
  return createMirror({ client, folder, now: () => NOW, ...more });
}

const servers = (count: number, meta = {}): Wire[] =>
  Array.from({ length: count }, (_, index) => wire(`io.github.ann/s${100 + index}`, {}, meta));

async function readEntries(mirror: Mirror): Promise<ReadonlyMap<string, RegistryEntry>> {
  const content = await mirror.read();
  return new Map(content?.entries.map((entry) => [entry.name, entry]));
}

const parseSince = (request = ""): string | null =>
  new URL(request, "http://registry").searchParams.get("updated_since");

describe("a sync", () => {
  test("asks for everything at first, and then for what has changed since the newest", async () => {
    const registry = await startRegistry([...servers(25), wire("com.acme/new", {}, { updatedAt: at(90) })]);
    const mirror = openMirror([registry], await temporaryFolder());
    expect(await mirror.read()).toBeUndefined();
    const { reports } = await mirror.sync();
    expect(reports).toEqual([
      {
        registry: registry.url,
        isFull: true,
        isWhole: true,
        total: 26,
        added: 26,
        changed: 0,
        deprecated: 0,
        deleted: 0,
        dropped: 0,
      },
    ]);
    expect(registry.requests).toHaveLength(3);
    expect(parseSince(registry.requests[0])).toBeNull();
    registry.entries = [
      ...registry.entries.slice(2),
      wire("io.github.ann/s100", { version: "1.1.0" }, { updatedAt: at(100) }),
      wire(
        "io.github.ann/s101",
        {},
        { updatedAt: at(101), status: "deprecated", statusMessage: "Use s102." },
      ),
      wire("com.acme/newest", {}, { updatedAt: at(102) }),
    ];
    registry.requests.length = 0;
    const { reports: second } = await mirror.sync();
    expect(parseSince(registry.requests[0])).toBe(at(89));
    expect(registry.requests).toHaveLength(1);
    expect(second[0]).toMatchObject({ isFull: false, total: 27, added: 1, changed: 2, deprecated: 1 });
    const entries = await readEntries(mirror);
    expect(entries.get("io.github.ann/s100")?.version).toBe("1.1.0");
    expect(entries.get("io.github.ann/s101")).toMatchObject({
      status: "deprecated",
      statusMessage: "Use s102.",
    });
    expect(entries.get("io.github.ann/s110")?.server).toEqual(wire("io.github.ann/s110").server);
  });

  test("marks what was deleted, also where the registry says nothing of it any more", async () => {
    const registry = await startRegistry(servers(5));
    const mirror = openMirror([registry], await temporaryFolder());
    await mirror.sync();
    const [first, second, ...rest] = registry.entries as [Wire, Wire, ...Wire[]];
    registry.entries = [
      wire(first.server.name, {}, { status: "deleted", updatedAt: at(200) }),
      second,
      ...rest,
    ];
    expect((await mirror.sync()).reports[0]).toMatchObject({ changed: 1, deleted: 1, total: 5 });
    registry.entries = rest;
    expect((await mirror.sync({ full: true })).reports[0]).toMatchObject({
      isFull: true,
      deleted: 2,
      total: 5,
    });
    expect((await readEntries(mirror)).get(second.server.name)?.status).toBe("deleted");
  });

  test("keeps the latest version where a registry sends all of them", async () => {
    const registry = await startRegistry();
    const versions = ["1.0.0", "3.0.0", "2.0.0"].map((version) =>
      wire("com.acme/a", { version }, { isLatest: version === "3.0.0" }),
    );
    registry.faults.push(body({ servers: versions, metadata: {} }));
    const mirror = openMirror([registry], await temporaryFolder());
    await mirror.sync();
    expect((await readEntries(mirror)).get("com.acme/a")?.version).toBe("3.0.0");
  });

  test("follows a registry that has taken the latest version back", async () => {
    const registry = await startRegistry([wire("com.acme/a", { version: "2.0.0" }, { publishedAt: at(50) })]);
    const mirror = openMirror([registry], await temporaryFolder());
    await mirror.sync();
    registry.entries = [wire("com.acme/a", { version: "1.0.0" }, { publishedAt: at(1), updatedAt: at(99) })];
    await mirror.sync();
    expect((await readEntries(mirror)).get("com.acme/a")?.version).toBe("1.0.0");
  });

  test("never asks for changes since a time at which it was not over yet", async () => {
    const registry = await startRegistry([wire("com.acme/a", {}, { updatedAt: "2999-01-01T00:00:00Z" })]);
    registry.now = () => Date.UTC(2026, 1, 1, 12, 0);
    const mirror = openMirror([registry], await temporaryFolder());
    await mirror.sync();
    await mirror.sync();
    expect(parseSince(registry.requests[1])).toBe("2026-02-01T11:59:00.000Z");
  });

  test("counts what cannot be used, and tells how far it is", async () => {
    const registry = await startRegistry(servers(12));
    registry.faults.push(body({ servers: [null, wire("com.acme/a")], metadata: { nextCursor: "io" } }));
    const told: number[] = [];
    const mirror = openMirror([registry], await temporaryFolder());
    const { reports } = await mirror.sync({ onProgress: ({ servers: count }) => void told.push(count) });
    expect(told).toEqual([1, 11, 13]);
    expect(reports[0]).toMatchObject({ total: 13, dropped: 1 });
  });

  test("of a registry that cannot be asked does not cost the others", async () => {
    const [broken, good] = [await startRegistry(), await startRegistry(servers(3))];
    broken.faults.push(status(500));
    const mirror = openMirror([broken, good], await temporaryFolder());
    const { reports, troubles } = await mirror.sync();
    expect(reports.map(({ registry }) => registry)).toEqual([good.url]);
    expect(troubles.map(({ code }) => code)).toEqual(["REGISTRY_UNAVAILABLE"]);
    const content = await mirror.read();
    expect(content?.entries).toHaveLength(3);
    expect(content?.syncedAt).toBeUndefined();
  });

  test("stops at a list without end, and asks for everything the next time", async () => {
    const registry = await startRegistry(servers(100));
    const mirror = openMirror([registry], await temporaryFolder(), { maxBytes: 8_000 });
    const { reports } = await mirror.sync();
    expect(reports[0]?.isWhole).toBe(false);
    expect(reports[0]?.total).toBeLessThan(100);
    registry.requests.length = 0;
    await mirror.sync();
    expect(parseSince(registry.requests[0])).toBeNull();
  });
});

describe("a sync that ended early", () => {
  test("leaves what was there before, and the next one begins again", async () => {
    const folder = await temporaryFolder();
    const registry = await startRegistry(servers(35));
    const mirror = openMirror([registry], folder);
    await mirror.sync();
    registry.entries = servers(45, { updatedAt: at(10), publishedAt: at(10) });
    registry.faults.push("none", "none", status(500));
    expect((await mirror.sync({ full: true })).troubles).toHaveLength(1);
    expect((await mirror.read())?.entries).toHaveLength(35);
    registry.requests.length = 0;
    const { reports } = await mirror.sync({ full: true });
    expect(reports[0]).toMatchObject({ isFull: true, total: 45, added: 10, changed: 35 });
    expect(registry.requests).toHaveLength(5);
    expect((await readdir(folder)).filter((name) => !name.endsWith(".jsonl"))).toEqual([]);
  });

  test("by a kill leaves nothing behind that the next process would take for a copy", async () => {
    const home = await temporaryFolder();
    const registry = await startRegistry(servers(250));
    registry.faults.push("none", "none", silence);
    const [command, ...args] = toolpipeCommand;
    const child = spawn(command, [...args, "registry", "sync", "--registry", registry.url], {
      env: { ...process.env, TOOLPIPE_HOME: home },
      stdio: "ignore",
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    await expect.poll(() => registry.requests.length, { timeout: 45_000 }).toBe(3);
    child.kill("SIGKILL");
    await once(child, "close");
    const mirror = openMirror([registry], join(home, "cache", "registry"));
    expect(await mirror.read()).toBeUndefined();
    expect((await mirror.sync()).reports[0]).toMatchObject({ total: 250, added: 250 });
  }, 60_000);

  test.skipIf(process.platform === "win32")(
    "by an interrupt is reported",
    async () => {
      const home = await temporaryFolder();
      const registry = await startRegistry(servers(250));
      registry.faults.push("none", silence);
      const [command, ...args] = toolpipeCommand;
      const child = spawn(command, [...args, "registry", "sync", "--registry", registry.url], {
        env: { ...process.env, TOOLPIPE_HOME: home },
        stdio: ["ignore", "ignore", "pipe"],
      });
      onTestFinished(() => void child.kill("SIGKILL"));
      const told = readText(child.stderr);
      await expect.poll(() => registry.requests.length, { timeout: 45_000 }).toBe(2);
      child.kill("SIGINT");
      const [code, signal] = await once(child, "close");
      // Deno takes this code for the signal itself.
      expect([130, "SIGINT"]).toContain(code ?? signal);
      expect(await told).toBe("Interrupted. The copy is as it was before.\n");
    },
    60_000,
  );

  test("does not disturb another at the same time: each does the whole", async () => {
    const folder = await temporaryFolder();
    const registry = await startRegistry(servers(45));
    const results = await Promise.all([
      openMirror([registry], folder).sync(),
      openMirror([registry], folder).sync(),
    ]);
    for (const { reports } of results) expect(reports[0]).toMatchObject({ total: 45 });
    expect(await readdir(folder)).toHaveLength(1);
  });
});

test("a sync that cannot write says where", async () => {
  const folder = join(await temporaryFolder({ file: "" }), "file");
  const mirror = openMirror([await startRegistry(servers(3))], folder);
  const error = await catchFailure(mirror.sync());
  expect(error.code).toBe("CONFIG_INVALID");
  expect(error.message).toContain(`Cannot keep the list of a registry in ${folder} (E`);
});

test("a list that goes in circles is not taken for a whole one", async () => {
  const registry = await startRegistry();
  const page = (nextCursor: string) => body({ servers: [wire("com.acme/a")], metadata: { nextCursor } });
  registry.faults.push(page("a"), page("b"), page("a"));
  const { reports } = await openMirror([registry], await temporaryFolder()).sync();
  expect(reports[0]).toMatchObject({ isWhole: false, total: 1 });
});

describe("a mirror on a disk that lies", () => {
  test("loses the lines that are spoilt, and asks for everything again", async () => {
    const folder = await temporaryFolder();
    const registry = await startRegistry(servers(5));
    const mirror = openMirror([registry], folder);
    await mirror.sync();
    const [name = ""] = await readdir(folder);
    const file = join(folder, name);
    const lines = (await readFile(file, "utf8")).split("\n");
    lines[2] = lines[2]?.slice(0, 40) ?? "";
    await writeFile(file, lines.join("\n"));
    expect((await mirror.read())?.entries).toHaveLength(4);
    registry.requests.length = 0;
    await mirror.sync();
    expect(parseSince(registry.requests[0])).toBeNull();
    expect((await mirror.read())?.entries).toHaveLength(5);
  });

  test("is not read where it is another registry's, or nothing at all", async () => {
    const folder = await temporaryFolder();
    const registry = await startRegistry(servers(5));
    const mirror = openMirror([registry], folder);
    await mirror.sync();
    const [name = ""] = await readdir(folder);
    for (const text of ["", "{}", '{"format":"toolpipe-registry-1","registry":"https://other"}\n', "\0\0"]) {
      await writeFile(join(folder, name), text);
      expect(await mirror.read()).toBeUndefined();
    }
  });
});

describe("a copy that several gateways use", () => {
  test("is made once, and known to all", async () => {
    const registry = await startRegistry(servers(12));
    const shared = createTestCache();
    const one = openMirror([registry], await temporaryFolder(), { shared });
    const other = openMirror([registry], await temporaryFolder(), { shared });
    await one.sync();
    const asked = registry.requests.length;
    expect((await readEntries(other)).size).toBe(12);
    expect(registry.requests.length).toBe(asked);
    // It goes on from there.
    const { reports } = await other.sync();
    expect(reports).toMatchObject([{ isFull: false, total: 12, added: 0 }]);
  });

  test("replaces an older one on this machine, and no newer one", async () => {
    const registry = await startRegistry(servers(3));
    const shared = createTestCache();
    const folder = await temporaryFolder();
    await openMirror([registry], folder, { now: () => NOW - 10 }).sync();
    const ahead = openMirror([registry], await temporaryFolder(), { shared, now: () => NOW + 10 });
    await ahead.sync();
    expect((await openMirror([registry], folder, { shared }).read())?.syncedAt).toBe(NOW + 10);
    await openMirror([registry], folder, { now: () => NOW + 20 }).sync();
    expect((await openMirror([registry], folder, { shared }).read())?.syncedAt).toBe(NOW + 20);
  });
});
