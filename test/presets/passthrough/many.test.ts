import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import type { GatewayError, JsonObject, Plugin } from "../../../core/mod.ts";
import { gateway } from "../../../presets/gateway/mod.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { until } from "../../support/until.ts";
import { everything, fixtureServer, openClient, readText, type TestClient } from "../_passthrough.ts";

const sdkServer = fileURLToPath(new URL("../../fixtures/sdk-server.mjs", import.meta.url));
const sdk = fixtureServer(sdkServer, "--legacy", "reject");
const TIMEOUT_MS = 60_000;

async function named(client: TestClient, list: string, key = list, field = "name"): Promise<unknown[]> {
  const result = await client.request(`${list}/list`);
  return (result[key] as JsonObject[]).map((item) => item[field]);
}

/** Notes what is reported outside of calls. */
function listener(): { readonly plugin: Plugin; readonly errors: GatewayError[] } {
  const errors: GatewayError[] = [];
  return {
    errors,
    plugin: { name: "listener", setup: () => ({ error: (error) => void errors.push(error) }) },
  };
}

test("prefixes tools of several servers that have one name, and routes each to its own", {
  timeout: TIMEOUT_MS,
}, async () => {
  const client = await openClient("v1", { servers: { everything, sdk } });
  const names = await named(client, "tools");
  expect(names).toEqual(expect.arrayContaining(["everything__echo", "sdk__echo", "get-sum", "steps"]));
  expect(names).not.toContain("echo");
  const one = await client.request("tools/call", { name: "everything__echo", arguments: { message: "hi" } });
  expect(readText(one)).toBe("Echo: hi");
  const two = await client.request("tools/call", { name: "sdk__echo", arguments: { text: "hi" } });
  expect(readText(two)).toBe("hi");
});

test("of two servers with the same URI the first counts, and that is reported once", {
  timeout: TIMEOUT_MS,
}, async () => {
  const { errors, plugin } = listener();
  const client = await openClient("v1", { servers: { everything, twin: everything }, plugins: [plugin] });
  const uris = await named(client, "resources", "resources", "uri");
  expect(new Set(uris).size).toBe(uris.length);
  const shadowed = errors.filter(({ code }) => code === "RESOURCE_SHADOWED");
  expect(shadowed.length).toBeGreaterThan(0);
  expect(new Set(shadowed.map(({ message }) => message)).size).toBe(shadowed.length);
  expect(shadowed[0]?.data).toEqual({ server: "twin", by: "everything" });
  const prompts = await named(client, "prompts");
  expect(prompts).toEqual(expect.arrayContaining(["everything__simple-prompt", "twin__simple-prompt"]));
  const got = await client.request("prompts/get", { name: "twin__simple-prompt" });
  expect(JSON.stringify(got)).toContain("simple prompt");
});

test("capabilities that no server has are not advertised, once all servers are listed", {
  timeout: TIMEOUT_MS,
}, async () => {
  const empty = await openClient("v2 modern", { servers: {} });
  expect(Object.keys(empty.capabilities)).toEqual(["tools"]);
  await expect(empty.request("prompts/list")).rejects.toMatchObject({ code: -32601 });
  const home = await temporaryFolder();
  const first = await openClient("v2 modern", { servers: { sdk }, home });
  // It could still have had them when the client asked.
  expect(await first.request("prompts/list")).toMatchObject({ prompts: [] });
  await first.stop();
  const second = await openClient("v2 modern", { servers: { sdk }, home });
  expect(Object.keys(second.capabilities)).toEqual(["tools"]);
});

test("listings are known from the last start, without a connection", {
  timeout: TIMEOUT_MS,
}, async () => {
  const home = await temporaryFolder();
  const first = await openClient("v1", { servers: { everything }, home });
  const uris = await named(first, "resources", "resources", "uri");
  await first.stop();
  const options = { upstreams: { discover: "none" } };
  const second = await openClient("v1", { servers: { everything }, home, options });
  expect(await named(second, "resources", "resources", "uri")).toEqual(uris);
  expect(await named(second, "prompts")).toContain("simple-prompt");
  expect(second.capabilities).toMatchObject({ completions: {}, resources: { subscribe: true }, logging: {} });
  expect(second.gateway.services.servers?.status("everything")?.status).toBe("disconnected");
  expect(await second.request("resources/read", { uri: String(uris[0]) })).toMatchObject({
    contents: [{ uri: uris[0] }],
  });
});

test("tools that a server adds are listed, and those before keep their names", {
  timeout: TIMEOUT_MS,
}, async () => {
  const client = await openClient("v1", { servers: { sdk } });
  const before = await named(client, "tools");
  await client.request("tools/call", { name: "change", arguments: {} });
  await until(() => client.changed.includes("tools"), TIMEOUT_MS);
  const after = await named(client, "tools");
  expect(after).toHaveLength(before.length + 1);
  expect(after).toEqual(expect.arrayContaining(before));
});

test("a name that a client saw before still reaches its tool", { timeout: TIMEOUT_MS }, async () => {
  const client = await openClient("v1", { servers: { sdk } });
  expect(await named(client, "tools")).toContain("echo");
  await client.gateway.catalog.replace({ id: "other" }, [
    { name: "echo", inputSchema: { type: "object" } },
    { name: "rest", inputSchema: { type: "object" } },
  ]);
  const names = await named(client, "tools");
  expect(names).toEqual(expect.arrayContaining(["sdk__echo", "other__echo"]));
  const result = await client.request("tools/call", { name: "echo", arguments: { text: "still here" } });
  expect(readText(result)).toBe("still here");
});

test("full mode of the gateway shows servers as passthrough does, and lazy mode does not", {
  timeout: TIMEOUT_MS,
}, async () => {
  const guard = { enabled: false };
  const open = (mode: string) =>
    openClient("v1", { servers: { everything }, preset: gateway, options: { discovery: { mode }, guard } });
  const full = await open("full");
  expect(await named(full, "tools")).toEqual(expect.arrayContaining(["echo", "get-sum"]));
  expect(await named(full, "prompts")).toContain("simple-prompt");
  expect(await named(full, "resources", "resources", "uri")).toContain(
    "demo://resource/static/document/features.md",
  );
  const lazy = await open("lazy");
  expect(await named(lazy, "tools")).toHaveLength(5);
  expect(lazy.capabilities["prompts"]).toBeUndefined();
});
