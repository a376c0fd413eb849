import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Gateway, GatewayError, type LoadedConfig } from "../../core/mod.ts";
import { type Command, configArgs, defineCommand } from "../../core/services/command.ts";
import { anygpt } from "../../presets/anygpt/mod.ts";
import { toolsOf } from "../lib/servers.ts";
import { untilTold } from "../lib/terminal/interrupt.ts";
import { coloured, counted, usageError } from "../lib/terminal/output.ts";
import { isHeld, serversOf, statusesOf } from "../lib/terminal/servers.ts";
import { type HttpServer, serveHttp } from "../serve/mod.ts";
import { createArrivals } from "./arrivals.ts";
import { loadServeConfig, withPages } from "./context.ts";
import { costOfServer, costThrough, describeSaving } from "./cost.ts";
import { demoServers } from "./demo-servers.ts";

const PORT = 7007;
/** How many ports are tried after the first. */
const MORE_PORTS = 20;
const DRAIN_MS = 5_000;

/** Serves over HTTP with everything said that a newcomer needs: what `npm start` runs in a clone. */
export const start: Command = defineCommand({
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
      await serveUntilTold(await loadServeConfig(given), portOf(port), folder);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
    // Whatever a plugin left open must not keep the process.
    process.exit(0);
  },
});

async function serveUntilTold(config: LoadedConfig, port: number | undefined, folder: string): Promise<void> {
  const told = untilTold();
  const arrivals = createArrivals(print);
  const watched = (one: LoadedConfig): Promise<LoadedConfig> =>
    withPages({ ...one, plugins: [...(one.plugins ?? []), arrivals.plugin] });
  const server = await listen(await watched(config), port);
  try {
    let preset = config.preset;
    if (hasServers(server.gateway)) print(`toolpipe serves what you have: ${whatOf(server.gateway)}.\n`);
    else {
      const demo = demoConfig(server.gateway, folder);
      preset = demo.preset;
      await server.reload(await watched(demo));
      print("toolpipe found no servers of yours, so it serves a demo of three real ones.\n");
    }
    print(`Listening at ${server.url}. To connect a client, run\n`);
    print(`  claude mcp add --transport http toolpipe ${server.url}\n`);
    print("or put this into the client's config:\n");
    print(`  ${JSON.stringify({ mcpServers: { toolpipe: { type: "http", url: server.url } } })}\n`);
    print(`Watch it at ${new URL("/", server.url).href}\n`);
    arrivals.show(server.gateway);
    void server.gateway.services.servers?.settled().then(() => {
      arrivals.finish();
      print(`\n${summary(server.gateway, preset)} Ctrl+C ends this.`);
    });
    await told;
  } finally {
    await server.close({ drainMs: DRAIN_MS });
  }
}

function print(line: string): void {
  process.stdout.write(coloured(`${line}\n`));
}

function portOf(given: string | undefined): number | undefined {
  if (given === undefined) return undefined;
  const port = Number(given);
  if (given === "" || !Number.isInteger(port) || port < 0 || port > 65_535)
    throw usageError("The option --port needs a port.");
  return port;
}

/** The port that is meant; where none is, the first that nobody has. */
async function listen(config: LoadedConfig, port: number | undefined): Promise<HttpServer> {
  if (port !== undefined) return serveHttp(config, { port });
  for (let next = PORT; next < PORT + MORE_PORTS; next++) {
    try {
      return await serveHttp(config, { port: next });
    } catch (thrown) {
      const { cause } = GatewayError.is(thrown) ? thrown : {};
      if ((cause as { code?: unknown } | undefined)?.code !== "EADDRINUSE") throw thrown;
    }
  }
  return serveHttp(config, { port: 0 });
}

/** Whether there is anything to serve: what waits for approval or is switched off is nothing yet. */
function hasServers(gateway: Gateway): boolean {
  const held = new Set(statusesOf(gateway).flatMap((status) => (isHeld(status) ? [status.name] : [])));
  return serversOf(gateway).some(({ name }) => !held.has(name));
}

function whatOf(gateway: Gateway): string {
  const held = statusesOf(gateway).filter(isHeld).length;
  const all = serversOf(gateway).length;
  return `${counted(all - held, "server")}${held > 0 ? `; ${held} more wait for you, or are switched off: see "toolpipe list"` : ""}`;
}

function demoConfig(gateway: Gateway, folder: string): LoadedConfig {
  const mcpServers = demoServers(folder);
  if (mcpServers) return { preset: anygpt, options: { sources: { mcpServers }, cache: { enabled: false } } };
  const where = gateway.configFile === undefined ? "on this machine" : `in ${gateway.configFile}`;
  throw new GatewayError(
    "CONFIG_INVALID",
    `There is nothing to serve: there are no servers ${where}, and the demo is part of a clone of the repository, after "npm ci". Define a server under "mcpServers" in a toolpipe.config.json, or see the pipeline at work with "toolpipe demo".`,
  );
}

function summary(gateway: Gateway, preset: LoadedConfig["preset"]): string {
  const servers = statusesOf(gateway).filter(({ listedAt }) => listedAt !== undefined);
  const tools = servers.map(({ name }) => toolsOf(gateway, name).filter(({ enabled }) => enabled));
  const tokens = servers.map(({ info }, index) => costOfServer(tools[index] ?? [], info));
  const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0);
  const count = sum(tools.map(({ length }) => length));
  return `${counted(servers.length, "server")}, ${counted(count, "tool")}: about ${describeSaving(sum(tokens), costThrough(gateway, preset))}.`;
}
