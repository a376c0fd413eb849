import { type CloseOptions, GatewayError, type LoadedConfig, type Plugin } from "../../core/mod.ts";
import { type ConfigChoice, configArgs, defineCommand } from "../../core/services/command.ts";
import type { Notices } from "../../core/services/notices.ts";
import { sleep } from "../lib/backoff.ts";
import { usageError } from "../lib/terminal/output.ts";
import { untilSignal } from "../lib/terminal/process.ts";
import { type HttpServerOptions, serveHttp, serveStdio } from "../serve/mod.ts";
import type { FolderConfig } from "./config-approval.ts";
import { findReadable, userFiles } from "./config-files.ts";
import { loadServeConfig, PORT, parsePort, withPages } from "./context.ts";
import { announceMode, type FollowedGateway, followConfig } from "./follow-config.ts";
import { onIdle, releaseMemory } from "./idle.ts";

/** Time for pending calls after the client has closed our input. */
const CLOSED_DRAIN_MS = 10_000;
const SIGNAL_DRAIN_MS = 30_000;
/** Time for plugins to close after the last call. */
const CLOSE_MS = 10_000;

/** Serves the gateway, to the client that started this process or over HTTP. */
export const command = defineCommand({
  args: {
    http: {
      type: "string",
      description: `Serve over HTTP on this machine (port ${PORT} by default)`,
      valueHint: "PORT",
    },
    host: {
      type: "string",
      description:
        "With --http: the address to serve at, 127.0.0.1 by default; an address that others can reach needs tokens",
      valueHint: "ADDRESS",
    },
    "allow-host": {
      type: "string",
      description: "With --http: other host names of this server, separated by commas",
      valueHint: "NAMES",
    },
    "allow-origin": {
      type: "string",
      description:
        "With --http: origins of web pages that may connect, separated by commas, such as https://app.example",
      valueHint: "ORIGINS",
    },
    ...configArgs,
  },
  async run({ http, host, "allow-host": hosts, "allow-origin": origins, ...given }) {
    const where = parseAddress({ http, host, "allow-host": hosts, "allow-origin": origins });
    const choose = http === undefined ? chooseConfig : async (args: ConfigChoice) => ({ args });
    const chosen: Choice = await choose(given);
    /** Note for agents while a config waits for approval. */
    let notice: string | undefined;
    const load = async (args: ConfigChoice, asks = false): Promise<LoadedConfig> => {
      const loaded = await loadServeConfig(args, asks);
      const shown = http === undefined ? loaded : await withPages(loaded);
      const own = [
        onIdle(() => void releaseMemory()),
        tellNotices(() => (notice === undefined ? [] : [notice])),
      ];
      return { ...shown, plugins: [...(shown.plugins ?? []), ...own] };
    };
    const config = await load(chosen.args, true);
    if (chosen.refused !== undefined) {
      notice = `${chosen.refused.why}. ${describeServed(config.configFile)}`;
      process.stderr.write(`toolpipe: ${notice}\n`);
    }
    const server = http === undefined ? await openStdio(config) : await openHttp(config, where);
    announceMode(server.gateway);
    const following = followConfig(config, server, async () => {
      // The approval may have changed since the last load.
      const { args, refused }: Choice = await choose(given);
      if (refused === undefined) {
        const next = await load(args);
        notice = undefined;
        return next;
      }
      const { configFile } = server.gateway;
      const served =
        configFile === refused.file
          ? "The gateway serves the config as it was when it was approved."
          : describeServed(configFile);
      notice = `${refused.why}. ${served}`;
      throw new GatewayError("CONFIG_INVALID", notice);
    });
    // By convention, this signal makes a server read its config again.
    if (process.platform !== "win32") process.on("SIGHUP", () => void following.reload().catch(() => {}));
    await closeAtEnd(server.ended, async (drainMs, signal) => {
      following.end();
      // A user who presses Ctrl+C does not wait for load balancers.
      if (signal === "SIGTERM") await waitForProbes(server.leave?.() ?? 0);
      await endWithin(server.close({ drainMs, cancelUnsent: signal !== undefined }), drainMs + CLOSE_MS);
    });
  },
});

interface Served extends FollowedGateway {
  /** Reports not ready; returns the milliseconds for which requests may still come. */
  leave?(): number;
  close(options: CloseOptions): Promise<void>;
  /** Resolves when the client has disconnected. */
  readonly ended: Promise<void>;
}

async function openStdio(config: LoadedConfig): Promise<Served> {
  if (process.stdin.isTTY) {
    process.stderr.write(
      "toolpipe speaks MCP here, to a client that starts it. In the config of your client:\n\n" +
        '  "toolpipe": { "command": "npx", "args": ["-y", "toolpipe"] }\n\n' +
        "To look around yourself, try: toolpipe list, toolpipe search, toolpipe --help. Ctrl+C ends this.\n",
    );
  }
  return Object.assign(await serveStdio(config), { how: "stdio" });
}

async function openHttp(config: LoadedConfig, where: HttpServerOptions): Promise<Served> {
  const server = await serveHttp(config, where);
  process.stderr.write(`toolpipe: serving ${server.gateway.tools.length} tools at ${server.url}\n`);
  return Object.assign(server, { how: server.url, ended: new Promise<void>(() => {}) });
}

type AddressArgs = Readonly<Record<"http" | "host" | "allow-host" | "allow-origin", string | undefined>>;

function parseAddress({ http, ...given }: AddressArgs): HttpServerOptions {
  for (const [name, value] of Object.entries(given)) {
    if (value !== undefined && http === undefined) throw usageError(`The option --${name} needs --http.`);
    if (value?.trim() === "") throw usageError(`The option --${name} needs a value.`);
  }
  const port = http ? parsePort(http, "--http") : PORT;
  const { host, "allow-host": hosts = "", "allow-origin": origins = "" } = given;
  return {
    port,
    ...(host !== undefined && { host }),
    allowedHosts: splitList(hosts),
    allowedOrigins: splitList(origins),
  };
}

function splitList(given: string): readonly string[] {
  return given.split(/[\s,]+/).filter(Boolean);
}

interface Choice {
  readonly args: ConfigChoice;
  /** Config of the folder that is not approved and not used. */
  readonly refused?: FolderConfig["refused"];
}

/** Finds the config of a folder. Where nothing can be approved, no config of a folder is used. */
const finders: readonly ((cwd: string) => Promise<FolderConfig>)[] = [
  // Loaded only where it is needed: most clients start toolpipe with a config that is named.
  async (cwd) => (await import("./config-approval.ts")).findApprovedConfig(cwd),
];

/**
 * Chooses the config. A user at a terminal is asked, and one who names a config trusts it. A client starts toolpipe in any
 * folder that it opens, so it gets the user's own config where that of the folder is not approved, and is told.
 */
async function chooseConfig(given: ConfigChoice): Promise<Choice> {
  if (given.config !== undefined || process.stdin.isTTY) return { args: given };
  const [find] = finders;
  const { file: approved, refused } = (await find?.(process.cwd())) ?? {};
  const { preset } = given;
  const config = approved ?? (await findReadable(userFiles()));
  return { args: config === undefined ? { preset, look: false } : { preset, config }, refused };
}

function describeServed(file: string | undefined): string {
  return file === undefined
    ? "The gateway serves the servers of the clients on this machine instead."
    : `The gateway serves ${file} instead.`;
}

/** Tells agents what they should know about the gateway beside its servers. */
function tellNotices(list: Notices): Plugin {
  return {
    name: "notices",
    provides: ["notices"],
    setup(gateway) {
      gateway.provide("notices", list);
    },
  };
}

/** Closes after the client has disconnected or a signal has come; a second signal ends the process at once. */
async function closeAtEnd(
  gone: Promise<void>,
  close: (drainMs: number, signal?: NodeJS.Signals) => Promise<void>,
): Promise<void> {
  const signal = await Promise.race([gone.then(() => undefined), untilSignal()]);
  await close(signal === undefined ? CLOSED_DRAIN_MS : SIGNAL_DRAIN_MS, signal);
  // Handles that a plugin left open must not keep the process alive.
  process.exit(0);
}

/** Waits for the end of everything; ends the process by force if that takes too long, as a hung disk makes it. */
async function endWithin(closing: Promise<void>, ms: number): Promise<void> {
  const timer = setTimeout(() => {
    process.stderr.write(`toolpipe: did not end within ${Math.round(ms / 1000)} s, so it ends by force\n`);
    process.exit(1);
  }, ms);
  await closing;
  clearTimeout(timer);
}

/** Serves on until load balancers have noticed that this gateway ends. */
async function waitForProbes(ms: number): Promise<void> {
  if (ms === 0) return;
  const seconds = (ms / 1000).toFixed(1);
  process.stderr.write(`toolpipe: ends in ${seconds} s, after readiness probes have noticed\n`);
  await sleep(ms);
}
