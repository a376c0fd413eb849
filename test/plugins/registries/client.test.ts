import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fileStorage } from "../../../plugins/lib/files.ts";
import { cacheKey } from "../../../plugins/registries/client.ts";
import { createRegistryClient, type RegistryOptions } from "../../../plugins/registries/mod.ts";
import { parseRegistryOptions } from "../../../plugins/registries/options.ts";
import { catchFailure } from "../../support/failure.ts";
import { createTestCache } from "../../support/services.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { body, reset, silence, startRegistry, status, type TestRegistry, wire } from "./_registry.ts";

/** A client that does not really wait, and records its delays. */
function openClient(registries: readonly TestRegistry[], options: RegistryOptions = {}) {
  const waits: number[] = [];
  const client = createRegistryClient(
    { registries: registries.map(({ url }) => url), ...options },
    { wait: async (ms) => void waits.push(ms), random: () => 0.5 },
  );
  return { client, waits };
}

const many = Array.from({ length: 25 }, (_, index) => wire(`io.github.ann/files-${index + 10}`));

describe("a search", () => {
  test("follows the cursors to the end, and names each server once", async () => {
    const registry = await startRegistry(many);
    const { client } = openClient([registry], { pageSize: 10 });
    const { entries, troubles } = await client.search("FILES");
    expect(entries.map(({ name }) => name)).toEqual(many.map(({ server }) => server.name));
    expect(troubles).toEqual([]);
    expect(registry.requests).toHaveLength(3);
    const last = new URL(registry.requests[2] ?? "", registry.url).searchParams;
    expect(Object.fromEntries(last)).toEqual({
      limit: "10",
      search: "FILES",
      version: "latest",
      cursor: "io.github.ann/files-29:1.0.0",
    });
  });

  test("stops once it has enough", async () => {
    const registry = await startRegistry(many);
    const { client } = openClient([registry], { pageSize: 10 });
    expect((await client.search("files", { limit: 5 })).entries).toHaveLength(5);
    expect(registry.requests).toHaveLength(1);
  });

  test("asks several registries, and believes the first of them that has a name", async () => {
    const first = await startRegistry([wire("com.acme/pay", { version: "1.0.0" })]);
    const second = await startRegistry([
      wire("com.acme/pay", { version: "9.9.9", description: "Not from acme." }),
      wire("com.other/pay"),
    ]);
    const { client } = openClient([first, second]);
    const { entries } = await client.search("pay");
    expect(entries.map(({ name, version, registry }) => [name, version, registry])).toEqual([
      ["com.acme/pay", "1.0.0", first.url],
      ["com.other/pay", "1.0.0", second.url],
    ]);
  });

  test("goes on without a registry that fails, and reports it", async () => {
    const broken = await startRegistry();
    broken.faults.push(status(500));
    const good = await startRegistry([wire("com.acme/pay")]);
    const { client, waits } = openClient([broken, good]);
    const { entries, troubles } = await client.search("pay");
    expect(entries).toHaveLength(1);
    expect(troubles.map(({ code, data }) => [code, data["registry"], data["status"]])).toEqual([
      ["REGISTRY_UNAVAILABLE", broken.url, 500],
    ]);
    expect(waits).toEqual([]);
  });

  test("fails where no registry could be asked, and names it without its password", async () => {
    const registry = await startRegistry();
    await registry.close();
    const withUser = registry.url.replace("//", "//ann:hunter2@");
    const client = createRegistryClient({ registries: [withUser] });
    const error = await catchFailure(client.search("x"));
    expect(error.code).toBe("REGISTRY_UNAVAILABLE");
    expect(error.message).toContain(`The registry ${registry.url} cannot be used.`);
    expect(JSON.stringify(error)).not.toContain("hunter2");
  });
});

describe("a result is kept", () => {
  test("for an hour, in memory and in a file, unless it is disabled", async () => {
    const registry = await startRegistry([wire("com.acme/pay")]);
    const folder = await temporaryFolder();
    let now = Date.now();
    const made = async () => {
      const cache = createTestCache({
        storage: fileStorage(folder),
        now: () => now,
      });
      return createRegistryClient({ registries: [registry.url] }, { cache });
    };
    const client = await made();
    const { entries } = await client.search("pay");
    expect(await client.search("pay")).toEqual({ entries, troubles: [] });
    expect(await (await made()).search("pay")).toEqual({ entries, troubles: [] });
    expect(registry.requests).toHaveLength(1);
    await client.search("pay", { useCache: false });
    expect(registry.requests).toHaveLength(2);
    now += 3_599_000;
    await client.search("pay");
    expect(registry.requests).toHaveLength(2);
    now += 2_000;
    await client.search("pay");
    expect(registry.requests).toHaveLength(3);
  });

  test("under a key of its own for each query", () => {
    expect(cacheKey("GitHub issues!", [])).toMatch(/^registry_github_issues_[0-9a-f_]+$/);
    fc.assert(
      fc.property(fc.string(), fc.string(), (a, b) => {
        expect(cacheKey(a, []) === cacheKey(b, [])).toBe(a === b);
        expect(cacheKey(a, [])).toMatch(/^registry_[a-z0-9_]{1,100}$/);
      }),
    );
  });

  test("but a failure is not", async () => {
    const registry = await startRegistry([wire("com.acme/pay")]);
    registry.faults.push(status(500));
    const cache = createTestCache();
    const client = createRegistryClient({ registries: [registry.url] }, { cache });
    await catchFailure(client.search("pay"));
    expect((await client.search("pay")).entries).toHaveLength(1);
  });
});

describe("a registry is asked again", () => {
  test.each([
    ["429", status(429)],
    ["503", status(503)],
    ["a reset connection", reset],
  ])("after %s, with waits that double", async (_, fault) => {
    const registry = await startRegistry([wire("com.acme/pay")]);
    registry.faults.push(fault, fault, fault);
    const { client, waits } = openClient([registry]);
    expect((await client.search("pay")).entries).toHaveLength(1);
    expect(waits).toEqual([1_000, 2_000, 4_000]);
  });

  test("when it was silent for too long", async () => {
    const registry = await startRegistry([wire("com.acme/pay")]);
    registry.faults.push(silence);
    const { client, waits } = openClient([registry], { timeoutMs: 2_000 });
    expect((await client.search("pay")).entries).toHaveLength(1);
    expect(waits[0]).toBe(1_000);
  });

  test("three times at most", async () => {
    const registry = await startRegistry();
    registry.faults.push(...Array.from({ length: 10 }, () => status(503)));
    const { client, waits } = openClient([registry]);
    const error = await catchFailure(client.search("pay"));
    expect(error.data).toMatchObject({ status: 503 });
    expect(waits).toHaveLength(3);
    expect(registry.requests).toHaveLength(4);
  });

  test("when it says, but not if that is later than we would wait", async () => {
    const registry = await startRegistry([wire("com.acme/pay")]);
    registry.faults.push(status(429, { "retry-after": "7" }), status(429, { "retry-after": "31" }));
    const { client, waits } = openClient([registry]);
    const error = await catchFailure(client.search("pay"));
    expect(waits).toEqual([7_000]);
    expect(error.message).toContain("Try again in 31 s.");
    expect(error.data).toMatchObject({ retryAfterMs: 31_000 });
  });

  test("by a date too", async () => {
    const registry = await startRegistry([wire("com.acme/pay")]);
    registry.faults.push(status(503, { "retry-after": new Date(Date.now() + 20_000).toUTCString() }));
    const { client, waits } = openClient([registry]);
    await client.search("pay");
    expect(waits).toHaveLength(1);
    expect(waits[0]).toBeGreaterThan(1_000);
    expect(waits[0]).toBeLessThanOrEqual(20_000);
  });

  test.each([[400], [401], [403], [500], [501], [502]])("never after %i", async (code) => {
    const registry = await startRegistry();
    registry.faults.push(status(code));
    const { client, waits } = openClient([registry]);
    expect((await catchFailure(client.search("pay"))).data).toMatchObject({ status: code });
    expect(waits).toEqual([]);
  });

  test("unless the caller aborts", async () => {
    const registry = await startRegistry();
    registry.faults.push(silence);
    const client = createRegistryClient({ registries: [registry.url] });
    const abort = new AbortController();
    const found = client.search("pay", { signal: abort.signal });
    const reason = new Error("enough");
    setTimeout(() => abort.abort(reason), 50);
    await expect(found).rejects.toBe(reason);
  });
});

describe("one server", () => {
  const versions = [
    wire("io.github.ann/files", { version: "2.0.0" }),
    wire("io.github.ann/files", { version: "1.0.0" }, { isLatest: false, status: "deprecated" }),
  ];

  test("is found by its name, in its latest version or another", async () => {
    const registry = await startRegistry(versions);
    const { client } = openClient([registry]);
    expect((await client.server("io.github.ann/files"))?.version).toBe("2.0.0");
    const old = await client.server("io.github.ann/files", { version: "1.0.0" });
    expect(old).toMatchObject({ version: "1.0.0", status: "deprecated", isLatest: false });
    expect(registry.requests[0]).toBe("/v0.1/servers/io.github.ann%2Ffiles/versions/latest");
    expect(await client.server("io.github.ann/none")).toBeUndefined();
  });

  test("has versions", async () => {
    const { client } = openClient([await startRegistry(versions)]);
    expect((await client.versions("io.github.ann/files")).map(({ version }) => version)).toEqual([
      "2.0.0",
      "1.0.0",
    ]);
    expect(await client.versions("io.github.ann/none")).toEqual([]);
  });

  test("is looked for in one registry after the other", async () => {
    const [first, second] = [await startRegistry(), await startRegistry(versions)];
    first.faults.push(status(500));
    const { client } = openClient([first, second]);
    expect((await client.server("io.github.ann/files"))?.registry).toBe(second.url);
    first.faults.push(status(500));
    await catchFailure(client.server("io.github.ann/none"));
  });

  test("is not confused with another that a registry returns instead", async () => {
    const registry = await startRegistry();
    registry.faults.push(body(wire("com.evil/files")));
    const { client } = openClient([registry]);
    expect(await client.server("io.github.ann/files")).toBeUndefined();
  });
});

describe("the address of a registry", () => {
  test.each([
    ["https://registry.example.com/", "https://registry.example.com"],
    ["https://registry.example.com/v0.1/servers", "https://registry.example.com"],
    ["https://example.com/mcp/v0?x=1#y", "https://example.com/mcp"],
    ["http://localhost:8080", "http://localhost:8080"],
    ["http://127.0.0.1:1", "http://127.0.0.1:1"],
    ["http://[::1]:1", "http://[::1]:1"],
  ])("%s is %s", (given, expected) => {
    expect(parseRegistryOptions({ registries: [given] }).registries).toEqual([expected]);
  });

  test.each([["http://registry.example.com"], ["http://127.0.0.1.example.com"], ["ftp://x"], ["nonsense"]])(
    "%s is refused",
    (given) => {
      expect(() => createRegistryClient({ registries: [given] })).toThrow(/HTTPS|not a URL/);
    },
  );

  test("wrong options are told by name", () => {
    expect(() => parseRegistryOptions({ pageSize: 0 })).toThrow(
      'The option "pageSize" of the registry needs',
    );
    expect(() => parseRegistryOptions({ registries: [] })).toThrow("at least one URL");
  });
});
