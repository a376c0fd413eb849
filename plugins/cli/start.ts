import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  type Gateway,
  GatewayError,
  type JsonObject,
  type LoadedConfig,
  type Plugin,
} from "../../core/mod.ts";
import { configArgs, defineCommand } from "../../core/services/command.ts";
import { anygpt } from "../../presets/anygpt/mod.ts";
import { isHeld, listServerRows, listServerTools, listStatuses } from "../lib/servers.ts";
import { colorMarks, formatCount, toTerminalLine } from "../lib/terminal/output.ts";
import { untilSignal } from "../lib/terminal/process.ts";
import { type HttpServer, serveHttp } from "../serve/mod.ts";
import { isPortTaken, loadServeConfig, PORT, parsePort, withPages } from "./context.ts";
import { describeSaving, estimatePreset, estimateServer } from "./cost.ts";

/** Ports that are tried after the first. */
const MORE_PORTS = 20;
const DRAIN_MS = 5_000;

/** Serves over HTTP and prints how to connect a client: `npm start` in a clone. */
export const command = defineCommand({
  args: {
    port: {
      type: "string",
      description: `The port; ${PORT} or the next free one by default`,
      valueHint: "PORT",
    },
    ...configArgs,
  },
  async run({ port, ...given }) {
    const folder = await mkdtemp(join(tmpdir(), "toolpipe-demo-"));
    try {
      await serveUntilSignal(
        await loadServeConfig(given),
        port === undefined ? undefined : parsePort(port, "--port"),
        folder,
      );
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
    // Handles that a plugin left open must not keep the process alive.
    process.exit(0);
  },
});

async function serveUntilSignal(
  config: LoadedConfig,
  port: number | undefined,
  folder: string,
): Promise<void> {
  const told = untilSignal();
  const arrivals = createArrivals();
  const addPlugins = (one: LoadedConfig): Promise<LoadedConfig> =>
    withPages({ ...one, plugins: [...(one.plugins ?? []), arrivals.plugin] });
  const server = await listen(await addPlugins(config), port);
  try {
    let preset = config.preset;
    if (hasServers(server.gateway))
      print(`toolpipe serves your servers: ${describeServed(server.gateway)}.\n`);
    else {
      const demo = demoConfig(server.gateway, folder);
      preset = demo.preset;
      await server.reload(await addPlugins(demo));
      print("toolpipe found no servers of yours, so it serves a demo of three real ones.\n");
    }
    print(`Listening at ${server.url}. To connect a client, run\n`);
    print(`  claude mcp add --transport http toolpipe ${server.url}\n`);
    print("or put this into the client's config:\n");
    print(`  ${JSON.stringify({ mcpServers: { toolpipe: { type: "http", url: server.url } } })}\n`);
    print(`Watch it at ${new URL("/", server.url).href}\n`);
    arrivals.show(server.gateway);
    void server.gateway.services.servers?.settled().then(async () => {
      await arrivals.finish();
      print(`\n${summary(server.gateway, preset)} Ctrl+C ends this.`);
    });
    await told;
  } finally {
    await server.close({ drainMs: DRAIN_MS });
  }
}

function print(line: string): void {
  process.stdout.write(colorMarks(`${line}\n`));
}

/** Listens at the given port, or else at the first free one. */
async function listen(config: LoadedConfig, port: number | undefined): Promise<HttpServer> {
  if (port !== undefined) return serveHttp(config, { port });
  for (let next = PORT; next < PORT + MORE_PORTS; next++) {
    try {
      return await serveHttp(config, { port: next });
    } catch (thrown) {
      if (!isPortTaken(thrown)) throw thrown;
    }
  }
  return serveHttp(config, { port: 0 });
}

/** Checks for servers that are neither switched off nor waiting for approval. */
function hasServers(gateway: Gateway): boolean {
  const held = new Set(listStatuses(gateway).flatMap((status) => (isHeld(status) ? [status.name] : [])));
  return listServerRows(gateway).some(({ name }) => !held.has(name));
}

function describeServed(gateway: Gateway): string {
  const held = listStatuses(gateway).filter(isHeld).length;
  const all = listServerRows(gateway).length;
  return `${formatCount(all - held, "server")}${held > 0 ? `; ${held} more need approval or are switched off: see "toolpipe list"` : ""}`;
}

function demoConfig(gateway: Gateway, folder: string): LoadedConfig {
  const mcpServers = createDemoServers(folder);
  if (mcpServers) return { preset: anygpt, options: { sources: { mcpServers }, cache: { enabled: false } } };
  const where = gateway.configFile === undefined ? "on this machine" : `in ${gateway.configFile}`;
  throw new GatewayError(
    "CONFIG_INVALID",
    `There is nothing to serve: there are no servers ${where}, and the demo needs a clone of the repository after "npm ci". Define a server under "mcpServers" in a toolpipe.config.json, or see the pipeline at work with "toolpipe demo".`,
  );
}

function summary(gateway: Gateway, preset: LoadedConfig["preset"]): string {
  const servers = listStatuses(gateway).filter(({ listedAt }) => listedAt !== undefined);
  const tools = servers.map(({ name }) => listServerTools(gateway, name).filter(({ enabled }) => enabled));
  const tokens = servers.map(({ info }, index) => estimateServer(tools[index] ?? [], info));
  const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0);
  const count = sum(tools.map(({ length }) => length));
  return `${formatCount(servers.length, "server")}, ${formatCount(count, "tool")}: about ${describeSaving(sum(tokens), estimatePreset(gateway, preset))}.`;
}

/** Prints each server once, when it has listed its tools or failed. The gateway must have the returned plugin. */
function createArrivals() {
  const printed = new Map<string, Promise<void>>();
  let served: Gateway | undefined;
  const printNew = (): void => {
    if (!served) return;
    const gateway = served;
    for (const one of listStatuses(served)) {
      const { name, status, reason, listedAt } = one;
      const isSettled = listedAt !== undefined || ["error", "needs-auth"].includes(status);
      if (printed.has(name) || !isSettled || isHeld(one)) continue;
      const printOne = (): void =>
        print(
          listedAt === undefined
            ? `✗ ${toTerminalLine(name)}: ${toTerminalLine(reason)}`
            : `✓ ${toTerminalLine(name)}: ${formatCount(listServerTools(gateway, name).length, "tool")}`,
        );
      // The listing is known before its tools are in the catalog.
      printed.set(name, Promise.resolve(gateway.services.servers?.settled(name)).then(printOne));
    }
  };
  return {
    plugin: {
      name: "arrivals",
      setup: (gateway) => {
        const onChange = (): void => {
          // A plugin sees the gateway through an object of its own, with the same catalog.
          if (gateway.catalog === served?.catalog) printNew();
        };
        return { "catalog:change": onChange, error: onChange };
      },
    } satisfies Plugin,
    show(gateway: Gateway): void {
      served = gateway;
      printNew();
    },
    /** Resolves once all servers that have settled are printed. */
    async finish(): Promise<void> {
      printNew();
      await Promise.all(printed.values());
    },
  };
}

/** Servers of the demo: a clone has them for its tests, an installed package does not. */
const packages = ["everything", "filesystem", "memory"] as const;

/** Creates the entries of the demo servers, whose files are in `folder`; undefined if they are not installed. */
export function createDemoServers(
  folder: string,
  root: string | undefined = findClone(),
): JsonObject | undefined {
  if (root === undefined) return undefined;
  const [everything, filesystem, memory] = packages.map((name) =>
    join(root, "node_modules", "@modelcontextprotocol", `server-${name}`, "dist", "index.js"),
  ) as [string, string, string];
  if (![everything, filesystem, memory].every((file) => existsSync(file))) return undefined;
  // The servers need Node, also if Deno runs toolpipe.
  const command = "Deno" in globalThis ? "node" : process.execPath;
  return {
    everything: { command, args: [everything, "stdio"] },
    filesystem: { command, args: [filesystem, join(root, "playground")] },
    memory: { command, args: [memory], env: { MEMORY_FILE_PATH: join(folder, "memory.jsonl") } },
  };
}

/** Finds the folder of the clone that is running; undefined for an installed package. */
function findClone(): string | undefined {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, "package.json"))) {
    if (dirname(folder) === folder) return undefined;
    folder = dirname(folder);
  }
  return /[\\/]node_modules[\\/]/.test(`${folder}/`) ? undefined : folder;
}
