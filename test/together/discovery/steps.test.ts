import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterEach, expect, test } from "vitest";
import { GatewayError } from "../../../core/mod.ts";
import { UPSTREAM_ERROR } from "../../../core/services/servers.ts";
import { type DiscoveryStep, discoverySteps } from "../../../plugins/discovery/mod.ts";
import { closeServers, legacyStreamable } from "../../fixtures/http-servers.ts";
import { faked, gatedServer, listIssues, memoryCache, remote } from "../../plugins/discovery/_fixtures.ts";
import { catchFailure } from "../../support/failure.ts";
import { isAlive } from "../../support/stdio-servers.ts";
import { temporaryFolder, writeFiles } from "../../support/temporary-folder.ts";
import { until } from "../../support/until.ts";
import { pooled } from "./_pool.ts";

afterEach(closeServers);

const github = remote("github", "https://github.example/mcp");

function traced(): { readonly steps: DiscoveryStep[]; readonly onStep: (step: DiscoveryStep) => void } {
  const steps: DiscoveryStep[] = [];
  return { steps, onStep: (step) => void steps.push(step) };
}

const format = (steps: readonly DiscoveryStep[]): string[] =>
  steps.map(({ number, name, outcome }) => `${number} ${name} ${outcome}`);

test("a server is asked in ten steps, in this order", async () => {
  const registered: string[] = [];
  const service = faked(
    { onCall: () => ({ structuredContent: { total: 1 } }) },
    {
      cache: memoryCache(),
      marketplace: { register: ({ id }) => void registered.push(id) },
      async introspectOutput(tool, { call }) {
        const { structuredContent } = await call(tool, { owner: "a", repo: "b" });
        return { type: "object", properties: { ...(structuredContent as object) } };
      },
    },
  );
  const { steps, onStep } = traced();
  const tools = await service.discoverTools(github, {
    useCache: true,
    introspectOutputSchemas: true,
    lazyOutputSchemas: false,
    registerInMarketplace: true,
    onStep,
  });
  expect(format(steps)).toEqual(discoverySteps.map((name, index) => `${index + 1} ${name} done`));
  expect(steps.every(({ server, attempt }) => server === "github" && attempt === 1)).toBe(true);
  expect(tools).toEqual([
    {
      ...listIssues,
      inputType: "type of owner repo",
      outputSchema: { type: "object", properties: { total: 1 } },
      outputType: "type of total",
      domains: ["github"],
      categories: ["crud.read"],
    },
  ]);
  expect(registered).toEqual(["mcp.github.list_issues"]);
  expect(service.sessions).toEqual({ opened: 1, closed: 1 });
});

test("by default nothing is cached, called or registered", async () => {
  const called: string[] = [];
  const service = faked(
    {
      onCall(name) {
        called.push(name);
        return {};
      },
    },
    {
      cache: memoryCache(),
      marketplace: { register: ({ id }) => void called.push(id) },
      introspectOutput: async (tool, { call }) => ({ ...(await call(tool, {})) }),
    },
  );
  const { steps, onStep } = traced();
  await service.discoverTools(github, { onStep });
  await service.discoverTools(github, { onStep, introspectOutputSchemas: true });
  expect(format(steps.slice(10))).toEqual(format(steps.slice(0, 10)));
  expect(steps.filter(({ outcome }) => outcome === "skipped").map(({ name }) => name)).toEqual([
    ...["cache", "outputs", "store", "registration"],
    ...["cache", "outputs", "store", "registration"],
  ]);
  expect(called).toEqual([]);
  expect(service.sessions.opened).toBe(2);
});

test("does not ask a cached server, unless told to", async () => {
  const service = faked({}, { cache: memoryCache() });
  const first = await service.discoverTools(github, { useCache: true });
  const { steps, onStep } = traced();
  expect(await service.discoverTools(github, { useCache: true, onStep })).toEqual(first);
  expect(format(steps)).toEqual([
    "1 cache hit",
    ...discoverySteps.slice(1).map((name, index) => `${index + 2} ${name} skipped`),
  ]);
  expect(service.sessions.opened).toBe(1);
  await service.discoverTools(github, { useCache: true, refreshCache: true });
  expect(service.sessions.opened).toBe(2);
});

test("a session is closed where its server does not list its tools, and the failure names the server", async () => {
  const service = faked({
    onList() {
      throw new GatewayError(UPSTREAM_ERROR, `The server "github" answered with an error: no.`);
    },
  });
  const { steps, onStep } = traced();
  const error = await catchFailure(service.discoverTools(github, { onStep }));
  expect(error.code).toBe("TOOLS_LIST_FAILED");
  expect(error.message).toContain('"github"');
  expect(format(steps)).toEqual([
    "1 cache skipped",
    "2 rate-limit done",
    "3 session done",
    "4 tools failed",
    "10 termination done",
  ]);
  expect(service.sessions).toEqual({ opened: 1, closed: 1 });
});

test("over HTTP, the session ends with the discovery", async () => {
  const real = await legacyStreamable();
  const gated = await gatedServer(() => undefined);
  const service = pooled();
  const tools = await service.discoverTools(remote("real", real.url));
  expect(tools.map(({ name }) => name)).toContain("echo");
  expect(real.sessions.size).toBe(0);
  expect((await service.discoverTools(remote("gated", gated.url))).map(({ name }) => name)).toEqual([
    "list_issues",
  ]);
  expect(gated.live.size).toBe(0);
});

test("a process that was started for it ends with the discovery", async () => {
  const server = fileURLToPath(new URL("../../fixtures/faulty-mcp.mjs", import.meta.url));
  const folder = await temporaryFolder();
  const file = join(folder, "pid");
  await writeFiles(folder, {
    "server.mjs": `import { writeFileSync } from "node:fs";
writeFileSync(${JSON.stringify(file)}, String(process.pid));
await import(${JSON.stringify(pathToFileURL(server).href)});`,
  });
  const service = pooled();
  const tools = await service.discoverTools({
    name: "local",
    connection: { type: "stdio", command: "node", args: [join(folder, "server.mjs")], env: {} },
    origin: { source: "inline", scope: "config" },
  });
  expect(tools.map(({ name }) => name)).toContain("echo");
  const pid = Number(await readFile(file, "utf8"));
  await until(() => !isAlive(pid), 20_000);
});

test("tools that a definition forbids are neither found nor registered, but cached", async () => {
  const registered: string[] = [];
  const tools = ["read", "write", "drop"].map((name) => ({ ...listIssues, name }));
  const service = faked(
    { tools },
    { cache: memoryCache(), catalog: { register: ({ name }) => void registered.push(name) } },
  );
  const names = async (filter: { include?: string[]; exclude?: string[] }): Promise<string[]> => {
    const options = { useCache: true, registerInMarketplace: true };
    return (await service.discoverTools({ ...github, tools: filter }, options)).map(({ name }) => name);
  };
  expect(await names({ exclude: ["drop"] })).toEqual(["read", "write"]);
  expect(registered).toEqual(["read", "write"]);
  expect(await names({ include: ["drop"] })).toEqual(["drop"]);
  expect(service.sessions.opened).toBe(1);
});

test("resources are found in the same way", async () => {
  const resources = [{ uri: "file:///a", name: "a" }];
  const service = faked({ resources }, { cache: memoryCache() });
  const expected = { resources, resourceTemplates: [] };
  expect(await service.discoverResources(github, { useCache: true })).toEqual(expected);
  expect(await service.discoverResources(github, { useCache: true })).toEqual(expected);
  expect(service.sessions.opened).toBe(1);
});

test("who gives up is not kept waiting, and nothing stays open", async () => {
  const abort = new AbortController();
  const service = faked({ onList: () => abort.abort() });
  const error = await catchFailure(
    service
      .discoverTools(github, { signal: abort.signal })
      .then(() => service.discoverTools(github, { signal: abort.signal })),
  );
  expect(error.code).toBe("CANCELLED");
  expect(service.sessions).toEqual({ opened: 1, closed: 1 });
});

test("a server that is switched off is not started", async () => {
  const service = pooled();
  const error = await catchFailure(service.discoverTools({ ...github, disabled: true }));
  expect(error.code).toBe("DENIED");
  expect(error.message).toBe('The server "github" is switched off in inline.');
});
