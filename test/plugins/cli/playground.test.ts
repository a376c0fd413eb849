import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import type { ColumnAnswer } from "../../../playground/protocol.ts";
import { place } from "../../support/place.ts";
import { runMain } from "../../support/run-cli.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { trustConfig } from "../../support/trust-config.ts";

/** Starts the command as a process of its own, and gives the address that it prints. */
async function start(args: readonly string[], cwd: string): Promise<{ child: ChildProcess; url: string }> {
  const onDeno = "Deno" in globalThis;
  const path = onDeno ? "plugins/cli/toolpipe.ts" : "dist/plugins/cli/toolpipe.js";
  const file = fileURLToPath(new URL(`../../../${path}`, import.meta.url));
  const run = [...(onDeno ? ["run", "-A"] : []), file, "playground", "--port", "0", ...args];
  const child = spawn(process.execPath, run, { cwd, stdio: ["ignore", "ignore", "pipe"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const url = await new Promise<string>((resolve, reject) => {
    let said = "";
    child.stderr.on("data", (chunk) => {
      said += String(chunk);
      const address = /http:\S+/.exec(said)?.[0];
      if (address) resolve(address);
    });
    child.once("exit", () => reject(new Error(`The playground did not start: ${said}`)));
  });
  return { child, url };
}

async function ask(url: string, body: object): Promise<unknown> {
  const headers = { "content-type": "application/json" };
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  return response.json();
}

test("serves the page, ranks over the servers of the config, and ends when it is told to", async () => {
  const { project } = await place({
    project: {
      "toolpipe.config.mjs": `import { defineConfig } from "toolpipe";
import { demo } from "toolpipe/plugins/demo";
export default defineConfig({ plugins: [demo()] });`,
    },
  });
  await trustConfig(project);
  const { child, url } = await start([], project);
  expect(await (await fetch(url)).text()).toContain("toolpipe playground");
  expect(await ask(`${url}api/open`, { catalog: "live" })).toMatchObject({ tools: 3, servers: 1 });
  const columns = [{ ranker: "keyword", settings: {} }];
  const answer = await ask(`${url}api/rank`, { catalog: "live", query: "count words", columns });
  expect((answer as { columns: ColumnAnswer[] }).columns[0]?.hits[0]?.id).toBe("demo:word_count");
  const ended = once(child, "exit");
  // Deno takes a process for killed by a signal that it was sent by `child.kill`, however it ended.
  process.kill(child.pid as number, "SIGTERM");
  expect(await ended).toEqual([0, null]);
});

test.each([
  [["--port", "x"], 'The option --port needs a port from 0 to 65535, not "x".'],
  [["--port", "65536"], 'The option --port needs a port from 0 to 65535, not "65536".'],
  [["--port="], 'The option --port needs a port from 0 to 65535, not "".'],
  [["--tools="], "The option --tools needs a value."],
  [["--queries="], "The option --queries needs a value."],
  [["--tools", "nowhere.jsonl"], "nowhere.jsonl: cannot be read (ENOENT)."],
])("%j is told in a sentence", async (args, sentence) => {
  await place();
  const { code, stderr } = await runMain(["playground", ...args]);
  expect(stderr).toContain(sentence);
  expect(code).not.toBe(0);
});

test("a config that cannot be used is told before anything is served", async () => {
  await place();
  const folder = await temporaryFolder({ "bad.json": `{ "preset": "nope" }` });
  const { code, stderr } = await runMain(["playground", "--config", `${folder}/bad.json`]);
  expect(stderr).toContain("bad.json");
  expect(code).toBe(2);
});
