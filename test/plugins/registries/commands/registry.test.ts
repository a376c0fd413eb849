// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables stay strings until a server is connected
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { createGateway, loadConfig } from "../../../../core/mod.ts";
import { createMirror, createRegistryClient } from "../../../../plugins/registries/mod.ts";
import { presets } from "../../../../presets/mod.ts";
import { type Place, place, write } from "../../../support/place.ts";
import { hasRedis, startRedis } from "../../../support/redis.ts";
import { type Finished, runMain } from "../../../support/run-cli.ts";
import { catalogue } from "../_catalogue.ts";
import { startRegistry, status, type TestRegistry, type Wire, wire } from "../_registry.ts";

vi.setConfig({ testTimeout: 60_000 });

let here: Place;
beforeEach(async () => {
  here = await place();
});

const npm = (more: object = {}) => ({
  packages: [
    {
      registryType: "npm",
      identifier: "@ann/weather",
      version: "1.2.3",
      registryBaseUrl: "https://packages.example.com",
      transport: { type: "stdio" },
      environmentVariables: [
        {
          name: "WEATHER_KEY",
          description: "The key\u001b[2J of the service",
          isRequired: true,
          isSecret: true,
        },
        { name: "UNITS", default: "metric" },
      ],
      ...more,
    },
  ],
});
const weather = wire("io.github.ann/weather", { title: "Weather", ...npm() });
const remote = wire("com.acme/mcp", {
  description: "Orders of ACME.",
  remotes: [
    {
      type: "streamable-http",
      url: "https://mcp.acme.example/mcp",
      headers: [{ name: "Authorization", isRequired: true, isSecret: true }],
    },
  ],
});

async function openRegistry(entries: readonly Wire[]): Promise<{
  registry: TestRegistry;
  run(...args: string[]): Promise<Finished>;
}> {
  const registry = await startRegistry(entries);
  return { registry, run: (...args) => runMain(["registry", ...args, "--registry", registry.url]) };
}

const config = (): string => join(here.state, "toolpipe.config.json");
const written = async (): Promise<unknown> => JSON.parse(await readFile(config(), "utf8"));

describe("registry search", () => {
  test("asks the registries where there is no copy, for each word too, and ranks what it finds", async () => {
    const { registry, run } = await openRegistry(catalogue);
    const { code, stdout, stderr } = await run("search", "postgres schemas", "--limit", "3");
    expect(stdout).toContain('Search results for "postgres schemas"');
    expect(stdout).toContain("1. io.github.elephant-sql/postgres-mcp 1.0.0\n   Run read-only SQL queries");
    expect(stdout).toContain("It cannot be started here.");
    expect(stderr).toContain('"toolpipe registry sync"');
    expect(code).toBe(0);
    const asked = registry.requests.map((url) => new URL(url, registry.url).searchParams.get("search"));
    expect(asked.toSorted()).toEqual(["postgres", "postgres schemas", "schemas"]);
    await run("search", "postgres schemas");
    expect(registry.requests).toHaveLength(3);
  });

  test("uses the copy of a sync, without asking anyone, and finds what no name holds", async () => {
    const { registry, run } = await openRegistry(catalogue);
    expect((await run("sync")).stdout).toBe(`✓ ${registry.url}: 42 servers (42 new, 0 changed)\n`);
    await registry.close();
    const { code, stdout, stderr } = await run("search", "weather forecast");
    expect(stdout).toMatch(/found of 42 servers\):\n\n1\. io\.github\.skywatch\/weather-station/);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const asked = await run("search", "weather forecast", "--remote");
    expect(asked.code).toBe(3);
    expect(asked.stderr).toContain("cannot be reached: the connection was refused");
  });

  test("prints JSON, with what is deprecated marked and what is deleted left out", async () => {
    const { registry, run } = await openRegistry([
      weather,
      wire("com.b/weather", {}, { status: "deprecated", statusMessage: "Use another." }),
      wire("com.c/weather", {}, { status: "deleted" }),
    ]);
    await run("sync", "--full");
    const found = JSON.parse((await run("search", "weather", "--json")).stdout);
    expect(found).toMatchObject({ source: "mirror", syncedAt: expect.any(String) });
    expect(found.results.map(({ name }: { name: string }) => name)).toEqual([
      "io.github.ann/weather",
      "com.b/weather",
    ]);
    expect(found.results[0]).toMatchObject({
      version: "1.0.0",
      title: "Weather",
      status: "active",
      ways: ["npm"],
      registry: registry.url,
    });
    expect(found.results[1]).toMatchObject({ status: "deprecated", statusMessage: "Use another." });
    expect((await run("search", "weather")).stdout).toContain("   ! Deprecated: Use another.");
  });

  test("ends with 2 where nothing fits", async () => {
    const { run } = await openRegistry(catalogue);
    const { code, stdout } = await run("search", "xyzzy");
    expect({ code, stdout }).toEqual({ code: 2, stdout: 'No server fits "xyzzy".\n' });
  });

  test("goes on without a registry that fails, and reports it", async () => {
    const [broken, good] = [await startRegistry(), await startRegistry([weather])];
    broken.faults.push(status(500));
    const args = ["registry", "search", "weather", "--registry", `${broken.url},${good.url}`];
    const { code, stdout, stderr } = await runMain(args);
    expect(stdout).toContain("io.github.ann/weather");
    expect(stderr).toContain(`! The registry ${broken.url} cannot be used.`);
    expect(code).toBe(0);
  });

  test.each([
    [["search", " "], "The query is empty."],
    [["search", "x", "--limit", "0"], "The option --limit needs a whole number, 1 or more."],
    [["search", "x", "--registry", ""], "The option --registry needs a value."],
    [["show", "weather"], 'is like "io.github.owner/name"'],
    [["add", "a/b", "--env", "X"], "The option --env needs"],
    [["add", "a/b", "--as", ""], "The option --as needs a value."],
    [["serch"], 'did you mean "search"?'],
  ])("%j is a mistake", async (args, message) => {
    const { code, stderr, stdout } = await runMain(["registry", ...args]);
    expect(stderr).toContain(message);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  });

  test("a registry must be reached over HTTPS", async () => {
    process.env["TOOLPIPE_REGISTRIES"] = "http://registry.example.com";
    const { code, stderr } = await runMain(["registry", "search", "x"]);
    expect(stderr).toContain("must be reached over HTTPS");
    expect(code).toBe(2);
  });
});

describe("registry show", () => {
  test("tells what a server is, how it would be started, and what it wants to know", async () => {
    const { registry, run } = await openRegistry([
      weather,
      wire("io.github.ann/weather", { version: "0.9.0" }, { isLatest: false, status: "deprecated" }),
    ]);
    const { code, stdout } = await run("show", "io.github.ann/weather");
    expect(stdout).toBe(`✓ io.github.ann/weather 1.0.0 - Weather
  What io.github.ann/weather does.
  Published: 2026-01-01
  Registry: ${registry.url}
  Versions: 1.0.0, 0.9.0 (deprecated)

It can be used by:
  npm: npx -y @ann/weather@1.2.3

It wants to know:
  WEATHER_KEY (variable, required, secret): The key[2J of the service
  UNITS (variable, metric if not given)

Add it as "weather": toolpipe registry add io.github.ann/weather
`);
    expect(code).toBe(0);
    const old = await run("show", "io.github.ann/weather", "--version", "0.9.0");
    expect(old.stdout).toContain("✗ io.github.ann/weather 0.9.0");
    expect(old.stdout).toContain("Status: deprecated");
  });

  test("as JSON too", async () => {
    const { run } = await openRegistry([remote]);
    const entry = JSON.parse((await run("show", "com.acme/mcp", "--json")).stdout);
    expect(entry).toMatchObject({
      name: "com.acme/mcp",
      status: "active",
      ways: [{ way: "remote", definition: { headers: { Authorization: "${ACME_AUTHORIZATION}" } } }],
    });
  });

  test("uses the copy if the registry cannot be asked, and reports it", async () => {
    const { registry, run } = await openRegistry([weather]);
    await run("sync");
    await registry.close();
    const { code, stdout, stderr } = await run("show", "io.github.ann/weather");
    expect(stdout).toContain("npx -y @ann/weather@1.2.3");
    expect(stderr).toContain("This is the copy of the last sync.");
    expect(code).toBe(0);
    expect((await run("show", "io.github.ann/other")).code).toBe(3);
  });

  test("ends with 2 for a server or version that is not there", async () => {
    const { run } = await openRegistry([weather]);
    expect(await run("show", "io.github.ann/none")).toMatchObject({ code: 2, stdout: "" });
    const { code, stderr } = await run("show", "io.github.ann/weather", "--version", "7");
    expect(stderr).toContain('There is no server "io.github.ann/weather" in version 7 in http://127.0.0.1');
    expect(code).toBe(2);
  });
});

describe("registry add", () => {
  test("only shows what it would write, unless it is told to", async () => {
    const { run } = await openRegistry([weather]);
    const { code, stdout } = await run("add", "io.github.ann/weather");
    expect(stdout).toContain("Runs: npx -y @ann/weather@1.2.3");
    expect(stdout).toContain("Published at: https://packages.example.com");
    expect(stdout).toContain("Reads your variables: WEATHER_KEY, UNITS");
    expect(stdout).toContain("Nothing was changed: --yes adds it.");
    expect(code).toBe(0);
    await expect(stat(config())).rejects.toThrow("ENOENT");
  });

  test("writes to the user's own config, names the next steps, and can be taken back", async () => {
    const before = '{\n  // mine\n  "mcpServers": { "old": { "command": "old" } },\n}\n';
    await write(here.state, { "toolpipe.config.json": before });
    const { run } = await openRegistry([weather]);
    const { code, stdout } = await run("add", "io.github.ann/weather", "--yes");
    expect(stdout).toContain('✓ Added io.github.ann/weather 1.0.0 as "weather" to ');
    expect(stdout).toContain("WEATHER_KEY (variable, required, secret): The key[2J of the service");
    expect(stdout).toContain("toolpipe tools weather --config ");
    expect(code).toBe(0);
    const text = await readFile(config(), "utf8");
    expect(text).toContain("// mine");
    expect(text).toContain('"old"');
    const printed = await runMain(["config", "show", "--json", "--config", config()]);
    expect(JSON.parse(printed.stdout).servers.configured).toBe(2);
    expect((await runMain(["init", "--undo"])).stdout).toContain("is restored");
    expect(await readFile(config(), "utf8")).toBe(before);
  });

  test("creates the config if there is none, readable by the user only", async () => {
    const { run } = await openRegistry([remote]);
    await run("add", "com.acme/mcp", "--yes", "--as", "shop", "--header", "X-Shop: eu");
    expect(await written()).toEqual({
      mcpServers: {
        shop: {
          type: "http",
          url: "https://mcp.acme.example/mcp",
          headers: { Authorization: "${SHOP_AUTHORIZATION}", "X-Shop": "eu" },
          description: "Orders of ACME.",
        },
      },
    });
    if (process.platform !== "win32") expect((await stat(config())).mode & 0o777).toBe(0o600);
  });

  test("writes no secret, wherever it is looked for", async () => {
    const { run } = await openRegistry([weather]);
    const secret = "sk-live-0123456789abcdef";
    const { stdout, stderr } = await run(
      ...["add", "io.github.ann/weather", "--yes", "--env", `WEATHER_KEY=${secret}`, "--env=UNITS=imperial"],
    );
    expect(stdout).toContain("! The value of WEATHER_KEY was not written, since it is a secret.");
    expect(stdout + stderr).not.toContain(secret);
    expect(await written()).toMatchObject({
      mcpServers: { weather: { env: { WEATHER_KEY: "${WEATHER_KEY}", UNITS: "imperial" } } },
    });
    for (const file of await readdir(here.state, { recursive: true, withFileTypes: true })) {
      if (!file.isFile()) continue;
      expect(await readFile(join(file.parentPath, file.name), "utf8")).not.toContain(secret);
    }
  });

  test("prints JSON, with what has to be set", async () => {
    const { run } = await openRegistry([weather]);
    const file = join(here.project, "mine.json");
    const { stdout } = await run("add", "io.github.ann/weather", "--json", "--yes", "--config", file);
    expect(JSON.parse(stdout)).toMatchObject({
      outcome: "written",
      id: "weather",
      way: "npm",
      file,
      toSet: [{ variable: "WEATHER_KEY", name: "WEATHER_KEY", isSecret: true }],
    });
    expect(JSON.parse(await readFile(file, "utf8"))).toHaveProperty("mcpServers.weather");
  });

  test("takes an exact version, and never the latest of a package", async () => {
    const { run } = await openRegistry([
      weather,
      wire("io.github.ann/weather", { version: "0.9.0", ...npm({ version: "0.9.1" }) }, { isLatest: false }),
      wire("io.github.ann/loose", npm({ version: "latest" })),
    ]);
    await run("add", "io.github.ann/weather", "--version", "0.9.0", "--yes");
    expect(JSON.stringify(await written())).toContain("@ann/weather@0.9.1");
    const { code, stderr } = await run("add", "io.github.ann/loose", "--yes");
    expect(stderr).toContain("no exact version");
    expect(code).toBe(4);
  });

  test("refuses what was deleted, warns of what is deprecated, and overwrites nothing", async () => {
    const { run } = await openRegistry([
      wire("com.a/gone", npm(), { status: "deleted", statusMessage: "It stole keys." }),
      wire("com.a/old", npm(), { status: "deprecated", statusMessage: "Use new." }),
    ]);
    const gone = await run("add", "com.a/gone", "--yes");
    expect(gone).toMatchObject({ code: 4, stdout: "" });
    expect(gone.stderr).toContain("its registry has deleted it (It stole keys.)");
    await expect(stat(config())).rejects.toThrow("ENOENT");
    expect((await run("add", "com.a/old")).stdout).toContain("! It is deprecated: Use new.");
    expect((await run("add", "com.a/old", "--yes")).code).toBe(0);
    const again = await run("add", "com.a/old", "--yes");
    expect(again).toMatchObject({ code: 2, stdout: "" });
    expect(again.stderr).toContain('There is a server "old"');
  });
});

describe("registry sync", () => {
  test("asks only for what has changed the second time, and reports it as JSON", async () => {
    const { registry, run } = await openRegistry([weather]);
    await run("sync");
    registry.entries.push(wire("com.a/new", {}, { updatedAt: "2026-02-01T00:00:00Z" }));
    const { code, stdout } = await run("sync", "--json");
    expect(JSON.parse(stdout)).toEqual({
      synced: [expect.objectContaining({ registry: registry.url, isFull: false, added: 1, total: 2 })],
      failed: [],
    });
    expect(code).toBe(0);
  });

  test.skipIf(!hasRedis)("shares the copy with gateways that share a Redis (needs Redis)", async () => {
    const { registry, run } = await openRegistry([weather]);
    const redis = await startRedis();
    const config = join(here.home, "shared.json");
    await write(here.home, { "shared.json": JSON.stringify({ state: redis.url, mcpServers: {} }) });
    expect(await run("sync", "--config", config)).toMatchObject({ code: 0, stderr: "" });
    // Another machine, which never asked the registry.
    vi.stubEnv("TOOLPIPE_HOME", join(here.home, "elsewhere"));
    const gateway = await createGateway(await loadConfig({ presets, file: config }));
    const client = createRegistryClient({ registries: [registry.url] });
    const { cache } = gateway.services;
    const known = await createMirror({ client, shared: cache }).read();
    expect(known?.entries.map(({ name }) => name)).toEqual(["io.github.ann/weather"]);
    await gateway.close();
    await redis.stop();
  });

  test("does not look for a Redis where a config has none", async () => {
    const { run } = await openRegistry([weather]);
    await write(here.home, { "alone.json": JSON.stringify({ mcpServers: {} }) });
    const { code, stderr } = await run("sync", "--config", join(here.home, "alone.json"));
    expect(code).toBe(1);
    expect(stderr).toContain("share no Redis");
  });

  test("ends with 3 where a registry fails", async () => {
    const { registry, run } = await openRegistry([weather]);
    registry.faults.push(status(500));
    const { code, stdout, stderr } = await run("sync");
    expect(stderr).toContain(`✗ The registry ${registry.url} cannot be used.`);
    expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
  });
});
