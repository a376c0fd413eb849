import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { JsonObject } from "../../../core/mod.ts";
import { memorySink } from "../../../plugins/audit/mod.ts";
import { anygpt } from "../../../presets/anygpt/mod.ts";
import { passthrough } from "../../../presets/passthrough.ts";
import { ask, readAnswer, serveGateway } from "../../plugins/serve/_http.ts";
import { readText } from "../../support/failure.ts";
import { openGateway } from "../../support/open-gateway.ts";
import { faulty, fixture, script } from "../../support/stdio-servers.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const server = (name: string, mode: string, more: object = {}): object => {
  const { command, args } = faulty(mode);
  return { name, command, args: [...args], ...more };
};
const options = (servers: readonly object[]) => ({
  audit: { sink: memorySink() },
  cache: { enabled: false },
  sources: { servers },
});
type Listed = { readonly tools: readonly { readonly name: string }[] };
const listNames = async (url: string): Promise<string[]> => {
  const { result } = await readAnswer(ask(url, "tools/list"));
  return (result as Listed).tools.map(({ name }) => name);
};

test("fault 76: right after the first start a list waits for servers, and a call for that which has its tool", async () => {
  const servers = [server("slow", "slowinit"), server("hanging", "hanginit", { startTimeoutMs: 20_000 })];
  const { url } = await serveGateway({ preset: passthrough, options: options(servers) });
  const call = (name: string, args: JsonObject): Promise<JsonObject> =>
    readAnswer(ask(url, "tools/call", { name, arguments: args }));
  // Neither is ready yet.
  const [names, answer] = await Promise.all([listNames(url), call("echo", { text: "hello" })]);
  expect(names).toContain("echo");
  expect(answer["result"]).toMatchObject({ content: [{ text: "hello" }] });
  // The one that hangs has been waited for: no list and no call of another server is delayed again.
  const began = performance.now();
  await listNames(url);
  await call("echo", { text: "again" });
  expect(performance.now() - began).toBeLessThan(2_000);
});

test("fault 76: a server that hangs does not hold up the first search until its time is over", async () => {
  const servers = [server("quick", "ok"), server("hanging", "hanginit", { startTimeoutMs: 60_000 })];
  const gateway = await openGateway(
    { preset: anygpt, options: { ...options(servers), answers: { waitMs: 30_000 } } },
    { drainMs: 0 },
  );
  const began = performance.now();
  const found = await gateway.run({ tool: "anygpt:search_tools", args: { query: "echo" } });
  expect(readText(found)).toContain("echo");
  expect(performance.now() - began).toBeLessThan(15_000);
});

test("fault 77: a running gateway reads a listing again that is older than the cache keeps it, once it is used", async () => {
  const file = join(await temporaryFolder(), "tools.json");
  const write = (...names: string[]): Promise<void> =>
    writeFile(file, JSON.stringify(names.map((name) => ({ name }))));
  await write("old");
  const { command, args } = script(fixture("told-mcp.mjs"), JSON.stringify({ tools: file }));
  const { url, gateway } = await serveGateway({
    preset: passthrough,
    options: {
      audit: { sink: memorySink() },
      cache: { ttl: 1, folder: await temporaryFolder() },
      sources: { servers: [{ name: "told", command, args: [...args] }] },
    },
  });
  expect(await listNames(url)).toEqual(["old"]);
  const listedAt = gateway.services.servers?.status("told")?.listedAt;
  // The server says nothing of the change.
  await write("new");
  await expect.poll(() => listNames(url), { timeout: 20_000 }).toEqual(["new"]);
  expect(gateway.services.servers?.status("told")?.listedAt).toBeGreaterThan((listedAt ?? 0) + 900);
});
