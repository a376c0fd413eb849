import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { toSafeName } from "../../../plugins/discovery/safe-names.ts";
import {
  createToolCache,
  type ToolCache,
  toolCacheTtl,
  toolsKey,
} from "../../../plugins/discovery/tool-cache.ts";
import { fileStorage } from "../../../plugins/lib/files.ts";
import { catchFailure } from "../../support/failure.ts";
import { createTestCache } from "../../support/services.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { faked, listIssues, memoryCache, remote } from "./_fixtures.ts";

const github = remote("github", "https://github.example/mcp");
const tool = { ...listIssues, inputType: ":any", domains: ["github"], categories: [] };
const found = { tools: [tool], resources: [], resourceTemplates: [] };
const DAY_MS = 24 * 3_600_000;

/** The cache of a gateway with files in a folder. */
function fileCache(
  folder: string,
  { now, ttlMs }: { readonly now?: () => number; readonly ttlMs?: number } = {},
): ToolCache {
  const storage = fileStorage(folder);
  return createToolCache(createTestCache({ storage, ...(now && { now }) }), ttlMs);
}

describe("tools are cached", () => {
  test("in memory, and in files that the next process reads", async () => {
    const folder = await temporaryFolder();
    const cache = fileCache(folder);
    expect(await cache.getTools(github)).toBeUndefined();
    await cache.storeTools(github, found);
    expect(await cache.getTools(github)).toEqual(found);
    expect(await fileCache(folder).getTools(github)).toEqual(found);
    const [file = ""] = await readdir(folder);
    expect(file).toContain("tools_github");
    if (process.platform !== "win32") expect((await stat(join(folder, file))).mode & 0o077).toBe(0);
  });

  test("for a day, or for as long as is said", async () => {
    const folder = await temporaryFolder();
    let now = Date.now();
    const day = fileCache(folder, { now: () => now });
    await day.storeTools(github, found);
    now += DAY_MS - 1;
    expect(await day.getTools(github)).toEqual(found);
    now += 1;
    expect(await day.getTools(github)).toBeUndefined();
    const short = fileCache(folder, { now: () => now, ttlMs: 60_000 });
    await short.storeTools(github, found);
    now += 60_000;
    expect(await short.getTools(github)).toBeUndefined();
  });

  test("until they are forgotten: those of one server, or all", async () => {
    const folder = await temporaryFolder();
    const cache = fileCache(folder);
    const other = remote("other", "https://other.example/mcp");
    for (const config of [github, other]) await cache.storeTools(config, found);
    await cache.clearServer("github");
    expect(await cache.getTools(github)).toBeUndefined();
    expect(await cache.getTools(other)).toEqual(found);
    await cache.clear();
    expect(await cache.getTools(other)).toBeUndefined();
    expect(await readdir(folder)).toEqual([]);
  });

  test("of one definition and not of another, whatever its name", async () => {
    const cache = memoryCache();
    await cache.storeTools(github, found);
    expect(await cache.getTools(remote("github", "https://elsewhere.example/mcp"))).toBeUndefined();
    expect(await cache.getTools(github)).toEqual(found);
  });

  test("for those who prove to be the same, and not for others", async () => {
    const cache = memoryCache();
    await cache.storeTools(github, found, { Authorization: "Bearer one" });
    expect(await cache.getTools(github, { Authorization: "Bearer two" })).toBeUndefined();
    expect(await cache.getTools(github)).toBeUndefined();
    expect(await cache.getTools(github, { Authorization: "Bearer one" })).toEqual(found);
  });

  test("without what proves who asked", async () => {
    const folder = await temporaryFolder();
    const cache = fileCache(folder);
    const secret = remote("github", "https://user:hunter2@github.example/mcp?key=hunter2");
    await cache.storeTools(secret, found, { Authorization: "Bearer hunter2" });
    for (const file of await readdir(folder)) {
      expect(await readFile(join(folder, file), "utf8")).not.toContain("hunter2");
    }
  });
});

describe("a file that is damaged is as good as none:", () => {
  test.each<[string, (text: string) => string]>([
    ["empty", () => ""],
    ["cut off", (text) => text.slice(0, text.length / 2)],
    ["changed", (text) => text.replace("list_issues", "drop_tables")],
    ["no JSON", () => "{{{"],
  ])("%s", async (_, damage) => {
    const folder = await temporaryFolder();
    await fileCache(folder).storeTools(github, found);
    const [file = ""] = await readdir(folder);
    await writeFile(join(folder, file), damage(await readFile(join(folder, file), "utf8")));
    const service = faked({}, { cache: fileCache(folder) });
    expect(await service.discoverTools(github, { useCache: true })).toHaveLength(1);
    expect(service.sessions.opened).toBe(1);
    // The answer repairs the entry.
    const next = faked({}, { cache: fileCache(folder) });
    await next.discoverTools(github, { useCache: true });
    expect(next.sessions.opened).toBe(0);
  });

  test("whole, but of another shape", async () => {
    const cache = memoryCache();
    for (const tools of [null, [{}], [{ ...tool, domains: "github" }], [{ ...tool, inputSchema: [] }]]) {
      await cache.storeTools(github, { ...found, tools } as never);
      expect(await cache.getTools(github)).toBeUndefined();
    }
  });
});

describe("the key of a server", () => {
  test("is its name where that is safe, and has a hash where it is not", () => {
    expect(toolsKey("github")).toBe("tools_github");
    expect(toolsKey("aws-s3_server")).toBe("tools_aws-s3_server");
    expect(toolsKey("modelcontextprotocol/github")).toMatch(
      /^tools_modelcontextprotocol_github_[0-9a-f]{12}$/,
    );
    expect(toolsKey("../../etc/passwd")).toMatch(/^tools_[\w-]+$/);
  });

  test("is never that of another one", () => {
    const name = fc.oneof(
      fc.string(),
      fc.stringMatching(/^[ab_/.:-]{1,6}$/),
      fc.string({ minLength: 55, maxLength: 70 }),
    );
    fc.assert(
      fc.property(name, name, (a, b) => {
        expect(toSafeName(a)).toMatch(/^[A-Za-z0-9_-]{1,80}$/);
        expect(toSafeName(a) === toSafeName(b)).toBe(a === b);
        // Nor can a name be chosen so that it becomes one.
        expect(toSafeName(toSafeName(a)) === toSafeName(a)).toBe(toSafeName(a) === a);
      }),
    );
  });
});

describe("the environment", () => {
  test("says for how long, else it is a day", () => {
    expect(toolCacheTtl({})).toBe(DAY_MS);
    expect(toolCacheTtl({ CCOS_MCP_CACHE_TTL: "60" })).toBe(60_000);
  });

  test.each(["soon", "-1", "1e9", "NaN"])("that says %j is told what is wrong", async (ttl) => {
    const error = await catchFailure(Promise.resolve().then(() => toolCacheTtl({ CCOS_MCP_CACHE_TTL: ttl })));
    expect(error.code).toBe("CONFIG_INVALID");
    expect(error.message).toBe("The variable CCOS_MCP_CACHE_TTL must be a number of seconds.");
  });
});
