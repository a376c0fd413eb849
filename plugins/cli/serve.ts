import { GatewayError, type LoadedConfig } from "../../core/mod.ts";
import { type Command, type ConfigChoice, configArgs, defineCommand } from "../../core/services/command.ts";
import { untilTold } from "../lib/terminal/interrupt.ts";
import { usageError } from "../lib/terminal/output.ts";
import { type HttpServerOptions, serveHttp, serveStdio } from "../serve/mod.ts";
import { firstThere, personFiles } from "./anygpt-config.ts";
import { atRest, giveMemoryBack } from "./at-rest.ts";
import { approvedConfig } from "./config-trust.ts";
import { loadServeConfig, withPages } from "./context.ts";
import { followConfig, type Reloading } from "./follow.ts";

/** A client that closes our input is gone; what it asked for may still be finished. */
const GONE_DRAIN_MS = 10_000;
const SIGNAL_DRAIN_MS = 30_000;

/** The port where none is named. */
const PORT = 7007;

/** Serves the gateway, to the client that started this process or over HTTP. */
export const serve: Command = defineCommand({
  args: {
    http: {
      type: "string",
      description: `Serve over HTTP on this machine (port ${PORT} if none is named)`,
      valueHint: "PORT",
    },
    host: {
      type: "string",
      description:
        "With --http: the address to serve at, 127.0.0.1 by default; one that others can reach needs tokens",
      valueHint: "ADDRESS",
    },
    "allow-host": {
      type: "string",
      description: "With --http: other names that clients know it by, with commas between",
      valueHint: "NAMES",
    },
    "allow-origin": {
      type: "string",
      description: "With --http: web pages that may ask, with commas between, such as https://app.example",
      valueHint: "ORIGINS",
    },
    ...configArgs,
  },
  async run({ http, host, "allow-host": hosts, "allow-origin": origins, ...given }) {
    const where = placeOf({ http, host, "allow-host": hosts, "allow-origin": origins });
    const choose = http === undefined ? chooseConfig : async (args: ConfigChoice) => ({ args });
    const chosen: Choice = await choose(given);
    if (chosen.refused !== undefined) process.stderr.write(`toolpipe: ${notApproved(chosen.refused)}\n`);
    const load = async (args: ConfigChoice): Promise<LoadedConfig> => {
      const loaded = await loadServeConfig(args);
      const shown = http === undefined ? loaded : await withPages(loaded);
      return { ...shown, plugins: [...(shown.plugins ?? []), atRest(() => void giveMemoryBack())] };
    };
    const config = await load(chosen.args);
    const server = http === undefined ? await openStdio(config) : await openHttp(config, where);
    const following = followConfig(config, server, async () => {
      // What was approved may have changed, and what was not may be approved by now.
      const { args, refused }: Choice = await choose(given);
      if (refused === undefined) return load(args);
      throw new GatewayError("CONFIG_INVALID", notApproved(refused));
    });
    // By convention, what makes a server read its config again.
    if (process.platform !== "win32") process.on("SIGHUP", () => void following.reload().catch(() => {}));
    await untilOver(server.ended, async (drainMs, signal) => {
      following.end();
      // A person at a terminal does not wait for balancers.
      if (signal === "SIGTERM") await noticed(server.leave?.() ?? 0);
      await server.close({ drainMs });
    });
  },
});

interface Served extends Reloading {
  /** Says that it goes; returns for how long requests may still come. */
  leave?(): number;
  close(options: { readonly drainMs: number }): Promise<void>;
  /** Resolves when there is nobody left to serve. */
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

type PlaceArgs = Readonly<Record<"http" | "host" | "allow-host" | "allow-origin", string | undefined>>;

function placeOf({ http, ...given }: PlaceArgs): HttpServerOptions {
  for (const [name, value] of Object.entries(given)) {
    if (value !== undefined && http === undefined) throw usageError(`The option --${name} needs --http.`);
    if (value?.trim() === "") throw usageError(`The option --${name} needs a value.`);
  }
  const port = !http ? PORT : Number(http);
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw usageError("The option --http needs a port.");
  const { host, "allow-host": hosts = "", "allow-origin": origins = "" } = given;
  return {
    port,
    ...(host !== undefined && { host }),
    allowedHosts: listOf(hosts),
    allowedOrigins: listOf(origins),
  };
}

function listOf(given: string): readonly string[] {
  return given.split(/[\s,]+/).filter(Boolean);
}

interface Choice {
  readonly args: ConfigChoice;
  /** The config of the folder, which is not used. */
  readonly refused?: string | undefined;
}

/** Whoever sits at a terminal, or names a config, means it. A client does not know what the folder holds. */
async function chooseConfig(given: ConfigChoice): Promise<Choice> {
  if (given.config !== undefined || process.stdin.isTTY) return { args: given };
  const { file: approved, refused } = await approvedConfig(process.cwd());
  const { preset } = given;
  const config = approved ?? (await firstThere(personFiles()));
  return { args: config === undefined ? { preset, look: false } : { preset, config }, refused };
}

function notApproved(file: string): string {
  return `${file} is not used, because nobody has approved it as it is. Read it, and then: toolpipe approve --file ${file}`;
}

/** Closes when the client goes or a signal comes; a second signal waits for nothing. */
async function untilOver(
  gone: Promise<void>,
  close: (drainMs: number, signal?: NodeJS.Signals) => Promise<void>,
): Promise<void> {
  const signal = await Promise.race([gone.then(() => undefined), untilTold()]);
  await close(signal === undefined ? GONE_DRAIN_MS : SIGNAL_DRAIN_MS, signal);
  // Whatever a plugin left open must not keep the process.
  process.exit(0);
}

/** Serves on until whoever sends requests here has noticed that it ends. */
async function noticed(ms: number): Promise<void> {
  if (ms === 0) return;
  const seconds = (ms / 1000).toFixed(1);
  process.stderr.write(`toolpipe: ends in ${seconds} s, when whoever asks for /readyz has noticed\n`);
  await new Promise((resolve) => setTimeout(resolve, ms));
}
