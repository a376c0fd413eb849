import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import {
  ConfigurationLoader,
  type DiscoveryConfig,
  DiscoveryEngine,
  MCPDiscoveryServer,
  type ServerEntry,
  type ToolMetadata,
} from "toolpipe/anygpt";
import { afterAll } from "vitest";
import type { JsonObject } from "../../../core/mod.ts";
import { createAsk } from "../../support/ask-streams.ts";
import { writeFiles } from "../../support/temporary-folder.ts";
import { fixtureServer, folderForAll } from "../shared.ts";
import { toEntries } from "../stage.ts";
import { startCompiler } from "./types.ts";

/** The config of the world: four servers, one of which cannot start, and two rules. */
export const config: DiscoveryConfig = {
  enabled: true,
  cache: { enabled: true, ttl: 3600 },
  sources: [],
  servers: toEntries(),
  toolRules: [
    { pattern: ["*issue*"], tags: ["github", "issues"] },
    { pattern: ["*delete*"], enabled: false, tags: ["dangerous"] },
  ],
};

/** What the rows share: folders, and the engine of a config that was loaded from a file. */
export const world = {} as { engine: DiscoveryEngine; home: string; project: string; state: string };

const closing: (() => Promise<unknown>)[] = [];

/** Opens the world in a home and a project of its own. Called in `beforeAll`. */
export async function openWorld(): Promise<void> {
  const root = await folderForAll({
    "home/keep": "",
    "project/anygpt.config.ts": `import { config } from "@anygpt/config";
export default config({ discovery: ${JSON.stringify(config)} });`,
  });
  const [cwd, before] = [process.cwd(), { ...process.env }];
  afterAll(async () => {
    await Promise.all(closing.map((close) => close()));
    process.chdir(cwd);
    Object.assign(process.env, before);
  });
  Object.assign(world, {
    home: join(root, "home"),
    project: join(root, "project"),
    state: join(root, "state"),
  });
  Object.assign(process.env, { HOME: world.home, USERPROFILE: world.home, TOOLPIPE_HOME: world.state });
  process.chdir(world.project);
  await startCompiler();
  world.engine = openEngine(await new ConfigurationLoader().load());
}

/** Creates an engine that is closed with the world. */
export function openEngine(given: DiscoveryConfig): DiscoveryEngine {
  const engine = new DiscoveryEngine(given);
  return closeLater(engine, () => engine.close());
}

/** Has something closed with the world. */
export function closeLater<T>(opened: T, close: () => Promise<unknown>): T {
  closing.push(close);
  return opened;
}

/** Writes a file of the project, and returns its path. */
export async function writeProject(name: string, text: string): Promise<string> {
  await writeFiles(world.project, { [name]: text });
  return join(world.project, name);
}

/** A server whose tools are in a file, which it reads with every listing. */
export async function changingServer(name: string): Promise<{
  readonly entry: ServerEntry;
  /** Counts the listings so far. */
  count(): Promise<number>;
  change(...tools: string[]): Promise<void>;
}> {
  const listing = join(world.project, `${name}.json`);
  const change = (...tools: string[]): Promise<void> =>
    writeFiles(world.project, {
      [`${name}.json`]: JSON.stringify(tools.map((each) => ({ name: each, description: `Does ${each}` }))),
    });
  await change("first");
  const { command, args } = fixtureServer("told-mcp.mjs", JSON.stringify({ listing }));
  return {
    entry: { name, connection: { type: "stdio", command, args } },
    count: async () => (await readFile(`${listing}.asked`, "utf8").catch(() => "")).split("\n").length - 1,
    change,
  };
}

/** A client of the five tools of an engine. */
export interface Session {
  request(method: string, params?: object): Promise<JsonObject>;
  /** Calls a tool and returns its result. */
  call(name: string, args?: object): Promise<JsonObject>;
  /** Calls a tool and returns the JSON of its answer. */
  answer(name: string, args?: object): Promise<JsonObject>;
}

/** Serves an engine over streams, and connects a client. Both end with the world. */
export async function openSession(engine: DiscoveryEngine): Promise<Session> {
  const streams = { input: new PassThrough(), output: new PassThrough() };
  const server = new MCPDiscoveryServer(engine, streams);
  await server.start();
  closeLater(server, () => server.stop());
  const ask = createAsk(streams);
  const request = async (method: string, params: object = {}) => (await ask(method, params)) as JsonObject;
  await request("initialize", {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name: "rows", version: "1" },
  });
  const call = (name: string, args: object = {}) => request("tools/call", { name, arguments: args });
  return {
    request,
    call,
    async answer(name, args) {
      const { content } = (await call(name, args)) as { content: { text: string }[] };
      return JSON.parse(content[0]?.text ?? "") as JsonObject;
    },
  };
}

/** A tool as the manager, the search and the rules take it. */
export function tool(name: string, more: Partial<ToolMetadata> = {}): ToolMetadata {
  return { server: "github", name, summary: "", enabled: true, tags: [], ...more };
}

/** Names of tools. */
export function toNames(tools: readonly { readonly name: string }[]): string[] {
  return tools.map(({ name }) => name);
}
