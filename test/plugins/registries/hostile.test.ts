import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readEntry } from "../../../plugins/registries/entry.ts";
import { createRegistryClient } from "../../../plugins/registries/mod.ts";
import { catchFailure } from "../../support/failure.ts";
import { body, startRegistry, status, type TestRegistry, wire } from "./_registry.ts";

const openClient = (registry: TestRegistry, options = {}) =>
  createRegistryClient({ registries: [registry.url], ...options });
const listNames = async (registry: TestRegistry, options = {}): Promise<readonly string[]> =>
  (await openClient(registry, options).search("a")).entries.map(({ name }) => name);

describe("entries that cannot be used do not cost the others:", () => {
  const deep = JSON.parse(`${"[".repeat(200)}${"]".repeat(200)}`) as unknown;
  test.each<[string, unknown]>([
    ["null", null],
    ["a text", "x"],
    ["a list", []],
    ["no name", { server: { version: "1" } }],
    ["a name that is a number", wire("x", { name: 7 } as never)],
    ["a name without an owner", wire("files")],
    ["a name that leads elsewhere", wire("../../etc/passwd")],
    ["a name with an escape in it", wire("com.acme/\u001b[31mred")],
    ["a name that is too long", wire(`com.acme/${"x".repeat(300)}`)],
    ["no version", wire("com.acme/a", { version: undefined } as never)],
    ["an empty version", wire("com.acme/a", { version: "" })],
    ["a version with a line break", wire("com.acme/a", { version: "1\n2" })],
    ["a version that is an object", wire("com.acme/a", { version: {} } as never)],
    ["nesting", wire("com.acme/a", { deep })],
    ["a page of text", wire("com.acme/a", { description: "x".repeat(400_000) })],
    ["a key of the prototype", JSON.parse(`{"server":{"name":"com.acme/a","version":"1","__proto__":{}}}`)],
  ])("%s", async (_, bad) => {
    const registry = await startRegistry();
    registry.faults.push(body(JSON.stringify({ servers: [bad, wire("com.acme/good")], metadata: {} })));
    expect(await listNames(registry)).toEqual(["com.acme/good"]);
  });
});

test("fields of the wrong type are left out, and strings become one line without control characters", () => {
  const entry = readEntry(
    {
      ...wire("com.acme/a", {
        title: "A\u001b[2J\u202e title",
        description: "one\n\n  two\u0000\u200b",
        repository: { url: "javascript:alert(1)" },
        websiteUrl: 7,
        packages: "none",
      } as never),
      _meta: {
        "io.modelcontextprotocol.registry/official": {
          status: "exploded",
          isLatest: "yes",
          updatedAt: "soon",
          statusMessage: ["x"],
        },
      },
    },
    "https://registry.example.com",
  );
  expect(entry).toMatchObject({
    title: "A[2J title",
    description: "one two",
    status: "active",
    isLatest: false,
  });
  for (const name of ["repository", "websiteUrl", "updatedAt", "statusMessage"])
    expect(entry).toHaveProperty(name, undefined);
});

test("entries of before autumn 2025 are understood", () => {
  const entry = readEntry(
    {
      id: "a5e8a7f0",
      name: "io.github.ann/files",
      description: "Reads files.",
      status: "deprecated",
      repository: { url: "https://github.com/ann/files", source: "github" },
      website_url: "https://files.example.com",
      version_detail: { version: "0.3.1", release_date: "2025-06-01T00:00:00Z", is_latest: true },
      _meta: {
        "io.modelcontextprotocol.registry/official": {
          published_at: "2025-06-01T00:00:00Z",
          updated_at: "2025-06-02T00:00:00+02:00",
        },
      },
    },
    "https://registry.example.com",
  );
  expect(entry).toMatchObject({
    name: "io.github.ann/files",
    version: "0.3.1",
    status: "deprecated",
    isLatest: true,
    publishedAt: "2025-06-01T00:00:00.000Z",
    updatedAt: "2025-06-01T22:00:00.000Z",
    websiteUrl: "https://files.example.com/",
  });
});

test("whatever an entry is, it is read or left out", () => {
  const value = fc.jsonValue();
  const entry = fc.record({ server: fc.record({ name: value, version: value }), _meta: value });
  fc.assert(
    fc.property(fc.oneof(value, entry), (given) => {
      const read = readEntry(given, "https://registry.example.com");
      if (read) expect(read.name).toMatch(/^[\w.-]+\/[\w.-]+$/);
    }),
  );
});

describe("a list ends", () => {
  const page = (nextCursor: unknown, ...names: string[]) =>
    body({ servers: names.map((name) => wire(name)), metadata: { nextCursor } });

  test("where a cursor comes back", async () => {
    const registry = await startRegistry();
    registry.faults.push(page("a", "com.acme/a"), page("b", "com.acme/b"), page("a", "com.acme/c"));
    expect(await listNames(registry)).toEqual(["com.acme/a", "com.acme/b", "com.acme/c"]);
    expect(registry.requests).toHaveLength(3);
  });

  test("where nothing new comes any more", async () => {
    const registry = await startRegistry();
    for (let index = 0; index < 50; index++) registry.faults.push(page(`c${index}`, "com.acme/a"));
    expect(await listNames(registry)).toEqual(["com.acme/a"]);
    expect(registry.requests).toHaveLength(4);
  });

  test("after so many pages, however many there are", async () => {
    const registry = await startRegistry();
    for (let index = 0; index < 50; index++) registry.faults.push(page(`c${index}`, `com.acme/a${index}`));
    expect(await listNames(registry, { maxPages: 5 })).toHaveLength(5);
    expect(registry.requests).toHaveLength(5);
  });

  test.each([[7], [{}], [""], ["x".repeat(5_000)], [null]])("where the cursor is %j", async (cursor) => {
    const registry = await startRegistry();
    registry.faults.push(page(cursor, "com.acme/a"));
    expect(await listNames(registry)).toEqual(["com.acme/a"]);
    expect(registry.requests).toHaveLength(1);
  });

  test("and a page of far too many entries is cut", async () => {
    const registry = await startRegistry();
    registry.faults.push(
      page(undefined, ...Array.from({ length: 3_000 }, (_, index) => `com.acme/a${index}`)),
    );
    const { entries } = await openClient(registry).search("a", { limit: 10_000 });
    expect(entries).toHaveLength(1_000);
  });
});

describe("an answer is refused", () => {
  test.each([
    ["that is not JSON", "<html>", "not a JSON object"],
    ["that is a list", "[]", "not a JSON object"],
    ["that is empty", "", "not a JSON object"],
    ["that is too large", JSON.stringify({ servers: ["x".repeat(20_000)] }), "larger than 10000 bytes"],
  ])("%s", async (_, text, reason) => {
    const registry = await startRegistry();
    registry.faults.push(body(text));
    const error = await catchFailure(openClient(registry, { maxBytes: 10_000 }).search("a"));
    expect(error.code).toBe("REGISTRY_UNAVAILABLE");
    expect(error.message).toContain(reason);
  });

  test("that leads to another host", async () => {
    const [registry, other] = [await startRegistry(), await startRegistry([wire("com.acme/a")])];
    registry.faults.push(status(302, { location: `${other.url}/v0.1/servers` }));
    expect((await catchFailure(openClient(registry).search("a"))).message).toContain(
      "It has moved to 127.0.0.1",
    );
    expect(other.requests).toEqual([]);
  });

  test("but one that leads on within the registry is followed", async () => {
    const registry = await startRegistry([wire("com.acme/a")]);
    registry.faults.push(status(307, { location: "/v0.1/servers?search=a" }));
    expect(await listNames(registry)).toEqual(["com.acme/a"]);
  });

  test("of what is no registry", async () => {
    const registry = await startRegistry();
    registry.faults.push(status(404));
    expect((await catchFailure(openClient(registry).search("a"))).message).toContain("no API of version 0.1");
  });

  test("a list that is none holds nothing", async () => {
    const registry = await startRegistry();
    registry.faults.push(body({ servers: { a: 1 }, metadata: [] }));
    expect(await listNames(registry)).toEqual([]);
  });
});
