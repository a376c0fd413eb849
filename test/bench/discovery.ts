import { createServer, type IncomingMessage, type Server } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { createGateway } from "../../core/mod.ts";
import type { ServerConfig } from "../../core/services/sources.ts";
import { createDiscoveryService } from "../../plugins/discovery/service.ts";
import { passthrough } from "../../presets/passthrough.ts";

/** Servers that each take so long, asked so many at a time, and what all of them may take together. */
export interface Scenario {
  readonly servers: number;
  readonly eachMs: number;
  readonly parallel: number;
  readonly mostMs?: number;
}

const scenarios: readonly Scenario[] = [
  { servers: 10, eachMs: 2_000, parallel: 1 },
  { servers: 10, eachMs: 2_000, parallel: 5, mostMs: 4_500 },
  { servers: 5, eachMs: 1_000, parallel: 1 },
  { servers: 5, eachMs: 1_000, parallel: 5, mostMs: 1_500 },
];

/** Wall time to ask servers over HTTP that take their time to list their tools. On a busy machine, CPU time counts twice and more. */
export async function discovery(): Promise<void> {
  // Modules imported with the first connection are not measured.
  await measureDiscovery({ servers: 1, eachMs: 0, parallel: 1 });
  process.stdout.write(
    "| servers | each | at once | took | at most | CPU, with the servers |\n|---|---|---|---|---|---|\n",
  );
  for (const scenario of scenarios) {
    const { servers, eachMs, parallel, mostMs } = scenario;
    const before = process.cpuUsage();
    const ms = await measureDiscovery(scenario);
    const { user, system } = process.cpuUsage(before);
    const limit = mostMs === undefined ? "" : seconds(mostMs);
    process.stdout.write(
      `| ${servers} | ${seconds(eachMs)} | ${parallel} | ${seconds(ms)} | ${limit} | ${seconds((user + system) / 1_000)} |\n`,
    );
    if (mostMs !== undefined && ms > mostMs) process.exitCode = 1;
  }
}

/** Measures the wall time to ask servers. */
export async function measureDiscovery({ servers: count, eachMs, parallel }: Scenario): Promise<number> {
  const servers = await Promise.all(Array.from({ length: count }, () => slowServer(eachMs)));
  const options = { sources: { mcpServers: {}, clients: [] } };
  const gateway = await createGateway({ preset: passthrough, options });
  const { servers: pool } = gateway.services;
  if (!pool) throw new Error("There is no server pool.");
  const service = createDiscoveryService({
    emitType: () => ":any",
    inferTags: () => ({ domains: [], categories: [] }),
    servers: pool,
  });
  try {
    const before = performance.now();
    const { successful } = await service.warmCacheForServers(
      servers.map((server, index) => createConfig(server, `server-${index}`)),
      { maxParallelDiscoveries: parallel },
    );
    if (successful !== count) throw new Error("A server could not be asked.");
    return performance.now() - before;
  } finally {
    await gateway.close();
    for (const server of servers) {
      server.close();
      server.closeAllConnections();
    }
  }
}

/** A server of the legacy protocol with one tool, which it lists after a delay. */
async function slowServer(ms: number): Promise<Server> {
  const server = createServer(async (request, response) => {
    if (request.method !== "POST") return void response.writeHead(405).end();
    const { id, method } = JSON.parse(await readBody(request)) as { id?: number; method: string };
    if (id === undefined) return void response.writeHead(202).end();
    if (method === "tools/list") await sleep(ms);
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ jsonrpc: "2.0", id, ...createAnswer(method) }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

function createAnswer(method: string): object {
  if (method === "tools/list")
    return { result: { tools: [{ name: "tool", inputSchema: { type: "object" } }] } };
  if (method !== "initialize") return { error: { code: -32601, message: "Method not found" } };
  const serverInfo = { name: "slow", version: "1.0.0" };
  return { result: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo } };
}

function createConfig(server: Server, name: string): ServerConfig {
  const address = server.address();
  if (typeof address !== "object" || !address) throw new Error("The server has no port.");
  const url = `http://127.0.0.1:${address.port}/mcp`;
  return {
    name,
    connection: { type: "http", url, headers: {} },
    origin: { source: "bench", scope: "config" },
  };
}

async function readBody(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  return text;
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(2)} s`;
}
