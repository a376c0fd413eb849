import { join } from "node:path";
import { afterAll } from "vitest";
import type { Gateway, GatewayOptions, JsonObject, Plugin } from "../../../core/mod.ts";
import type { HttpConnection, Origin, ServerConfig } from "../../../core/services/sources.ts";
import { inferTags } from "../../../plugins/discovery/manifest.ts";
import {
  type DiscoveryStep,
  type ServerDiscovery,
  type ServerDiscoveryOptions,
  serverDiscovery,
} from "../../../plugins/discovery/mod.ts";
import {
  createDiscoveryService,
  type DiscoveryParts,
  type DiscoveryService,
} from "../../../plugins/discovery/service.ts";
import { registries } from "../../../plugins/registries/mod.ts";
import { search } from "../../../plugins/search/mod.ts";
import { rtfs, types } from "../../../plugins/types/mod.ts";
import { passthrough } from "../../../presets/passthrough.ts";
import { closeServers, type Listening, listen } from "../../fixtures/http-servers.ts";
import { type Wire, wire } from "../../plugins/registries/_registry.ts";
import { writeFiles } from "../../support/temporary-folder.ts";
import { folderForAll, openForAll, toldServer } from "../shared.ts";
import { startServer, type ToolServer } from "./server.ts";

/** Definition of a server with a URL, as in a user's config. */
export function remote(
  name: string,
  url: string,
  more: { readonly connection?: Partial<HttpConnection>; readonly origin?: Partial<Origin> } = {},
): ServerConfig {
  return {
    name,
    connection: { type: "http", url, headers: {}, ...more.connection },
    origin: { source: "inline", scope: "config", ...more.origin },
  };
}

/** What the rows share. */
export interface World {
  /** The server `github`, and a definition of it. */
  readonly github: ToolServer;
  readonly config: ServerConfig;
  /** A registry; its entries are what a row puts there. */
  readonly registry: Listening & { entries: readonly Wire[] };
  /** A gateway with the servers `github` and, over stdio, `local`. */
  readonly gateway: Gateway;
  readonly service: ServerDiscovery;
  readonly folder: string;
}

export const world = {} as World;

/** Opens what the rows share, in a folder of its own. Called in `beforeAll`. */
export async function openWorld(): Promise<void> {
  const folder = await folderForAll({ "home/keep": "", "project/keep": "" });
  const [cwd, before] = [process.cwd(), { ...process.env }];
  const home = join(folder, "home");
  Object.assign(process.env, { HOME: home, USERPROFILE: home, TOOLPIPE_HOME: join(folder, "toolpipe") });
  process.chdir(join(folder, "project"));
  afterAll(async () => {
    await closeServers();
    process.chdir(cwd);
    Object.assign(process.env, before);
  });
  const github = await startServer();
  const registry = Object.assign(await startRegistry(), { entries: [] });
  Object.assign(world, { folder, github, registry });
  // What a service of its own finds: the servers of the user's clients.
  await writeFiles(home, {
    ".cursor/mcp.json": JSON.stringify({ mcpServers: { github: { url: github.url } } }),
  });
  const gateway = await openForAll(gatewayOptions({ mcpServers: { github: { url: github.url }, local } }));
  const config = gateway.services.servers?.status("github")?.config;
  Object.assign(world, { gateway, service: findService(gateway), config });
}

/** A server over stdio with one tool. */
export const local: JsonObject = toldServer([{ name: "forecast", description: "Tell the weather" }]);

/** Options of a gateway that discovers: on these servers, in a cache of its own if it has a folder. */
export function gatewayOptions({
  mcpServers = {},
  cacheFolder,
  plugins = [],
  ...options
}: {
  readonly mcpServers?: JsonObject;
  readonly cacheFolder?: string;
  readonly plugins?: readonly Plugin[];
} & ServerDiscoveryOptions = {}): GatewayOptions {
  return {
    preset: passthrough,
    plugins: [
      types(),
      search(),
      registries({ urls: [world.registry.origin] }),
      serverDiscovery({ allowPrivate: true, ...options }),
      ...plugins,
    ],
    options: {
      sources: { mcpServers, clients: [] },
      upstreams: { discover: "none", useCache: false },
      ...(cacheFolder !== undefined && { cache: { folder: cacheFolder } }),
    },
  };
}

/** Returns the discovery service of a gateway. */
export function findService({ services }: Gateway): ServerDiscovery {
  if (!services.serverDiscovery) throw new Error("There is no discovery service.");
  return services.serverDiscovery;
}

/** Creates a service on the connections of the world's gateway, with other parts, such as a clock that does not wait. */
export function createService(parts: Partial<DiscoveryParts> = {}): DiscoveryService {
  const { servers } = world.gateway.services;
  if (!servers) throw new Error("There are no connections.");
  return createDiscoveryService({ emitType: rtfs.type, inferTags, servers, allowPrivate: true, ...parts });
}

/** A service that notes how long it would wait, and does not. */
export function hurriedService(parts: Partial<DiscoveryParts> = {}): {
  readonly service: DiscoveryService;
  readonly waits: number[];
} {
  const waits: number[] = [];
  const sleep = async (ms: number): Promise<void> => void waits.push(ms);
  return { service: createService({ waiting: { sleep, random: () => 0.5 }, ...parts }), waits };
}

/** Notes the steps of a discovery. */
export function traceSteps(): {
  readonly steps: DiscoveryStep[];
  readonly onStep: (step: DiscoveryStep) => void;
  outcomes(): Readonly<Record<string, DiscoveryStep["outcome"]>>;
} {
  const steps: DiscoveryStep[] = [];
  return {
    steps,
    onStep: (step) => void steps.push(step),
    outcomes: () => Object.fromEntries(steps.map(({ name, outcome }) => [name, outcome])),
  };
}

/** An entry of the registry for a server with a URL. */
export function registryEntry(name: string, url: string): Wire {
  return wire(name, { remotes: [{ type: "streamable-http", url }] });
}

/** Serves the world's entries as a registry does: those whose name contains what is searched, in pages. */
function startRegistry(): Promise<Listening> {
  return listen((request, response) => {
    const { pathname, searchParams } = new URL(String(request.url), "http://registry");
    response.setHeader("content-type", "application/json");
    if (pathname !== "/v0.1/servers") return void response.writeHead(404).end("{}");
    const text = (searchParams.get("search") ?? "").toLowerCase();
    const found = world.registry.entries.filter(({ server }) => server.name.toLowerCase().includes(text));
    const from = Number(searchParams.get("cursor") ?? 0);
    const to = from + Number(searchParams.get("limit") ?? 30);
    const metadata = to < found.length ? { nextCursor: String(to) } : {};
    response.end(JSON.stringify({ servers: found.slice(from, to), metadata }));
  });
}
