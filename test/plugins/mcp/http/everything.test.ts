import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import type { Client } from "../../../../core/services/clients.ts";
import { connected, readText, remote } from "../_http.ts";

/** Starts the server in a process of its own, and returns where it listens. */
async function everything(kind: "streamableHttp" | "sse"): Promise<string> {
  const file = fileURLToPath(new URL("../../../fixtures/http-everything.mjs", import.meta.url));
  const run = "Deno" in globalThis ? ["run", "-A", "--no-lock", file, kind] : [file, kind];
  const child = spawn(process.execPath, run, { stdio: ["ignore", "pipe", "ignore"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const port = await new Promise<string>((resolve, reject) => {
    let output = "";
    child.once("exit", () => reject(new Error("The server did not start.")));
    child.stdout.on("data", (chunk) => {
      output += String(chunk);
      const found = /port=(\d+)\n/.exec(output)?.[1];
      if (found !== undefined) resolve(found);
    });
  });
  return `http://127.0.0.1:${port}/${kind === "sse" ? "sse" : "mcp"}`;
}

test.each([
  ["streamableHttp", "http", "http"],
  ["sse", "sse", "sse"],
  ["sse", "http", "sse"],
] as const)("server-everything by %s, defined as %s, is used by %s", async (kind, type, transport) => {
  await using upstream = await connected(remote(await everything(kind), { type }));
  expect(upstream.prior).toMatchObject({ transport, protocol: "legacy" });
  const { tools, rejected, resources, prompts } = await upstream.list();
  expect(tools.map((tool) => tool.name)).toEqual(expect.arrayContaining(["echo", "get-sum"]));
  expect(rejected).toEqual([]);
  expect(resources.length).toBeGreaterThan(0);
  expect(prompts.length).toBeGreaterThan(0);
  expect(readText(await upstream.call("echo", { message: "hello" }))).toBe("Echo: hello");
  const steps: number[] = [];
  const args = { duration: 0.2, steps: 2 };
  await upstream.call("trigger-long-running-operation", args, {
    onProgress: ({ progress }) => steps.push(progress),
  });
  expect(steps).toEqual([1, 2]);
});

test("two clients on one connection each get the questions of their own call", async () => {
  const capabilities = { elicitation: { form: {} } };
  await using upstream = await connected(remote(await everything("streamableHttp")), { capabilities });
  const named = (name: string): Client => ({
    protocol: "legacy",
    session: {},
    capabilities,
    can: () => true,
    ask: async () => ({ action: "accept", content: { name } }),
    notify: () => {},
  });
  const names = ["Ada", "Grace", "Hedy", "Mary"];
  const results = await Promise.all(
    names.map((name) => upstream.call("trigger-elicitation-request", {}, { client: named(name) })),
  );
  expect(results.map((result) => names.filter((name) => readText(result).includes(name)))).toEqual(
    names.map((name) => [name]),
  );
});
