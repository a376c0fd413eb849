import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { placeCommand, readComposeCommand, readImageCommand, unpackPackage } from "./support/image.ts";
import { freePort, hasRedis, startRedis } from "./support/redis.ts";
import { removeFolder, temporaryFolder } from "./support/temporary-folder.ts";

const { entrypoint, command } = readImageCommand();
const deployedConfig = readFileSync(
  fileURLToPath(new URL("../playground/deploy/toolpipe.config.yaml", import.meta.url)),
  "utf8",
);

let folder: string;
let app: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "toolpipe-image-"));
  app = await unpackPackage(folder);
}, 60_000);
afterAll(() => removeFolder(folder));

/** Starts a command of the image in the packed package, until the test is over. */
async function start(
  words: readonly string[],
  places: Readonly<Record<string, string>>,
  more: NodeJS.ProcessEnv,
) {
  const [file, ...args] = placeCommand([...entrypoint, ...words], { "/app/": `${app}/`, ...places });
  const child = spawn(file, args, {
    cwd: app,
    env: { PATH: process.env["PATH"], NODE_ENV: "production", ...more },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  return child;
}

test.skipIf("Deno" in globalThis)(
  "the image serves one client over stdio, with the config of its volume",
  async () => {
    const home = await temporaryFolder({
      "toolpipe.config.json": '{ "plugins": ["toolpipe/plugins/demo"] }',
    });
    const child = await start(command, {}, { TOOLPIPE_HOME: home });
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
    const request = async (id: number, method: string, params: object) => {
      child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
      return JSON.parse((await lines.next()).value).result;
    };
    const clientInfo = { name: "test", version: "1" };
    const { serverInfo } = await request(1, "initialize", {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo,
    });
    expect(serverInfo.name).toBe("toolpipe");
    expect((await request(2, "tools/list", {})).tools).toHaveLength(5);
    const found = await request(3, "tools/call", { name: "list_mcp_servers", arguments: {} });
    expect(found.content[0].text).toContain('"name":"demo"');
    child.stdin.end();
    expect(await new Promise((resolve) => child.once("exit", resolve))).toBe(0);
  },
  30_000,
);

test.skipIf(!hasRedis || "Deno" in globalThis)(
  "compose.yaml serves it over HTTP, with Redis and tokens",
  async () => {
    const redis = await startRedis("--requirepass", "secret", "--maxmemory-policy", "noeviction");
    onTestFinished(() => redis.stop());
    const home = await temporaryFolder({
      "toolpipe.config.yaml": deployedConfig.replace("@redis:6379", `@127.0.0.1:${redis.port}`),
    });
    const port = await freePort();
    const places = {
      "/etc/toolpipe/toolpipe.config.yaml": join(home, "toolpipe.config.yaml"),
      "--http=7007": `--http=${port}`,
    };
    const child = await start(readComposeCommand(), places, {
      TOOLPIPE_HOME: home,
      REDIS_PASSWORD: "secret",
    });
    for await (const line of createInterface(child.stderr)) if (line.includes("serving")) break;
    const origin = `http://127.0.0.1:${port}`;
    expect((await fetch(`${origin}/healthz`)).status).toBe(200);
    expect((await fetch(`${origin}/mcp`, { method: "POST", body: "{}" })).status).toBe(401);
  },
  30_000,
);
