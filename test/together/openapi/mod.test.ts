import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { createGateway, definePlugin, loadConfig, type Tool } from "../../../core/mod.ts";
import { knownOperations, openapi } from "../../../plugins/openapi/mod.ts";
import { rules } from "../../../plugins/rules/mod.ts";
import { search } from "../../../plugins/search/mod.ts";
import { validate } from "../../../plugins/validate.ts";
import { json, restServer } from "../../fixtures/openapi/faulty-rest.ts";
import { createApi, fixture, openAdapters } from "../../plugins/openapi/_open.ts";
import { getError } from "../../support/failure.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const paths = { "/it": { get: { operationId: "read", summary: "Read it" } } };

test("adapters stand at the top of a config, and their documents are found from there", async () => {
  const folder = await temporaryFolder({
    "api.json": JSON.stringify(createApi(paths)),
    "toolpipe.config.json": JSON.stringify({ preset: "own", adapters: { api: { document: "./api.json" } } }),
  });
  const own = { name: "own", plugins: [openapi()], tools: [] };
  const presets = { own: () => Promise.resolve(own) };
  const config = await loadConfig({ presets, file: join(folder, "toolpipe.config.json") });
  const gateway = await createGateway(config);
  expect(gateway.catalog.tools().map(({ id }) => id)).toEqual(["api:read"]);
  await gateway.close();
});

test.each([
  [{ Api: { document: "x" } }, /small letters/],
  [{ api: {} }, /document/],
  [{ api: { document: "x", auth: { env: "sk_live_123 456" } } }, /name of a variable/],
  [{ api: { document: "x", server: "ftp://x" } }, /begins with http/],
  [{ api: { document: "x", colour: 1 } }, /no such option/],
])("names wrong options, and prints no value that may be a secret: %j", (adapters, message) => {
  const made = (): unknown => openapi({ adapters: adapters as never });
  expect(made).toThrow(message);
  expect(made).not.toThrow(/sk_live/);
});

test("an adapter is known by its document, its extensions, what comes with us, and the config, the last first", async () => {
  const document = createApi(paths, {
    info: { title: "From the document", version: "1", description: "<p>It <b>pays</b></p>" },
    "x-adapter": { category: "from the extension", currencies: ["NGN"], capabilities: "none" },
    externalDocs: { url: "https://docs.example" },
  });
  const folder = await temporaryFolder({ "api.json": JSON.stringify(document) });
  const overlays = {
    api: { name: "From us", countries: ["NG"], commonOperations: ["read", "api:gone"], category: "from us" },
  };
  const adapters = {
    api: {
      document: join(folder, "api.json"),
      overlay: { category: "from the config", bestPractices: ["Be kind."] },
    },
  };
  const gateway = await createGateway({ plugins: [openapi({ adapters, overlays })] });
  expect(gateway.services.adapters?.list()).toEqual([
    {
      id: "api",
      name: "From us",
      description: "It pays",
      category: "from the config",
      capabilities: [],
      countries: ["NG"],
      currencies: ["NGN"],
      authType: "none",
      envVar: undefined,
      documentation: "https://docs.example",
      commonOperations: ["api:read"],
      errors: [],
      bestPractices: ["Be kind."],
      webhooks: undefined,
    },
  ]);
  expect(gateway.catalog.server("api")).toMatchObject({ title: "From us", description: "It pays" });
  await gateway.close();
});

test("one broken document is reported with file and reason, and the others go on", async () => {
  const folder = await temporaryFolder({ "bad.yaml": "openapi: 3.0.0\npaths: [\n" });
  const { gateway, reported, run } = await openAdapters({
    bad: { document: join(folder, "bad.yaml") },
    none: { document: join(folder, "none.json") },
    good: { document: createApi(paths) },
  });
  expect(gateway.catalog.tools().map(({ id }) => id)).toEqual(["good:read"]);
  expect(reported.map(({ message }) => message)).toEqual([
    expect.stringMatching(/none\.json: it cannot be read \(ENOENT\)\.$/),
    expect.stringMatching(/bad\.yaml:\d+:\d+: /),
  ]);
  expect(gateway.services.adapters?.get("bad")?.problem).toMatch(/bad\.yaml:/);
  expect(getError(await run("bad:anything"))).toMatchObject({ code: "DOCUMENT_BROKEN" });
  expect(getError(await run("good:anything"))).toMatchObject({ code: "TOOL_NOT_FOUND" });
});

test("a document is fetched from an address, and a call that comes before it waits for it", async () => {
  const { origin } = await restServer(({ url }, response) => {
    if (url === "/v1/openapi.json") return void response.writeHead(301, { location: "/v1/moved.json" }).end();
    json(response, url === "/v1/moved.json" ? createApi(paths, { servers: [{ url: "/v1" }] }) : { at: url });
  });
  const { run } = await openAdapters({ api: { document: `${origin}/v1/openapi.json`, allowPrivate: true } });
  const call = await run("api:read");
  expect(call.ok && call.result.structuredContent).toEqual({ at: "/v1/it" });
});

test("an address that answers with something else is reported, without what may be secret in it", async () => {
  const { origin } = await restServer((_, response) => void response.writeHead(403).end());
  const { gateway, reported } = await openAdapters({
    api: { document: `${origin}/openapi.json?token=canary`, allowPrivate: true },
  });
  await gateway.services.adapters?.settled?.();
  expect(reported[0]?.message).toMatch(
    /openapi\.json: it cannot be fetched: the server answered HTTP 403\.$/,
  );
  expect(JSON.stringify(reported)).not.toContain("canary");
});

test("a document that could not be fetched is asked for again later, when it is needed", async () => {
  let isThere = false;
  const { origin, received } = await restServer(({ url }, response) => {
    json(
      response,
      url === "/openapi.json" ? createApi(paths, { servers: [{ url: "/" }] }) : {},
      isThere ? 200 : 503,
    );
  });
  const { run } = await openAdapters({ api: { document: `${origin}/openapi.json`, allowPrivate: true } });
  expect(getError(await run("api:read")).code).toBe("DOCUMENT_BROKEN");
  isThere = true;
  expect(getError(await run("api:read")).code).toBe("DOCUMENT_BROKEN");
  expect(received).toHaveLength(1);
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 31_000 });
  onTestFinished(() => void vi.useRealTimers());
  expect((await run("api:read")).ok).toBe(true);
});

test("an operation is found by what it does, and by the names of its parameters", async () => {
  const { gateway } = await openAdapters({ shop: { document: fixture("shop.yaml") } }, [search()]);
  const found = await gateway.services.search?.("charge for an order");
  expect(found?.hits[0]?.tool.id).toBe("shop:create-order");
  const named = await gateway.services.search?.("amount in cents");
  expect(named?.hits[0]?.tool.id).toBe("shop:create-order");
});

test("arguments are checked against the whole of the document before anything is made of them", async () => {
  const { run } = await openAdapters({ shop: { document: fixture("shop.yaml") } }, [validate()]);
  for (const args of [
    {},
    { body_id: "a", amount: 0 },
    { body_id: "a", amount: 1, more: 1 },
    { body_id: "a", amount: 1, item: {} },
  ]) {
    expect(getError(await run("shop:create-order", args)).code, JSON.stringify(args)).toBe(
      "INVALID_ARGUMENTS",
    );
  }
});

test("an operation that rules disable is not called", async () => {
  const { run } = await openAdapters({ api: { document: createApi(paths) } }, [
    rules({ toolRules: [{ pattern: ["*"], enabled: false }] }),
  ]);
  expect(getError(await run("api:read")).code).toBe("TOOL_DISABLED");
});

test("another plugin may keep an operation from being called, also where there are no rules", async () => {
  const off = definePlugin({
    name: "off",
    setup: () => ({
      "tool:discover"(tool: Tool) {
        tool.enabled = false;
        tool.disabledBecause = "It is Sunday.";
      },
    }),
  });
  const { run } = await openAdapters({ api: { document: createApi(paths) } }, [off()]);
  expect(getError(await run("api:read"))).toMatchObject({
    code: "TOOL_DISABLED",
    message: '"api:read" is disabled. It is Sunday.',
  });
});

test("a plugin that judges tools sees which operation each is, if known-operations is there", async () => {
  const seen: (string | undefined)[] = [];
  const judge = definePlugin({
    name: "judge",
    setup: () => ({
      "tool:discover"(tool: Tool) {
        seen.push(tool.operation?.method);
      },
    }),
  });
  const { tool } = await openAdapters({ api: { document: createApi(paths) } }, [judge(), knownOperations()]);
  expect(seen).toEqual(["GET"]);
  expect(tool("api:read").operation).toMatchObject({ method: "GET", path: "/it" });
});

test("a server of the same name is left alone, and that is reported", async () => {
  const first = definePlugin({
    name: "first",
    setup: (gateway) => ({
      async ready() {
        await gateway.catalog.replace({ id: "api" }, [{ name: "own", inputSchema: { type: "object" } }]);
      },
    }),
  });
  const { gateway, reported } = await openAdapters({ api: { document: createApi(paths) } }, [first()]);
  expect(gateway.catalog.tools().map(({ id }) => id)).toEqual(["api:own"]);
  expect(reported[0]?.message).toContain("already a server of this name");
});
