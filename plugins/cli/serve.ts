import type { CommandDef } from "citty";
import { GatewayError, type LoadedConfig } from "../../core/mod.ts";
import { serveHttp, serveStdio } from "../serve/mod.ts";
import { firstThere, personFiles } from "./_anygpt-config.ts";
import { command } from "./_command.ts";
import { followConfig, type Reloading } from "./_follow.ts";
import { type ConfigArgs, configArgs, loadServeConfig } from "./_gateway.ts";
import { approvedConfig } from "./_trust.ts";
import { untilTold } from "./_until-told.ts";
import { usageError } from "./_usage.ts";

/** A client that closes our input is gone; what it asked for may still be finished. */
const GONE_DRAIN_MS = 10_000;
const SIGNAL_DRAIN_MS = 30_000;

/** The port where none is named. */
const PORT = 7007;

/** Serves the gateway, to the client that started this process or over HTTP. */
export const serve: CommandDef = command({
  name: "serve",
  description: "Serve all tools to agents: to the client that starts this, or over HTTP",
  args: {
    http: {
      type: "string",
      description: `Serve over HTTP on this machine (port ${PORT} if none is named)`,
      valueHint: "PORT",
    },
    ...configArgs,
  },
  async run({ http, ...given }) {
    const choose = http === undefined ? chooseConfig : async (args: ConfigArgs) => ({ args });
    const chosen: Choice = await choose(given);
    if (chosen.refused !== undefined) process.stderr.write(`toolpipe: ${notApproved(chosen.refused)}\n`);
    const config = await loadServeConfig(chosen.args);
    const server = http === undefined ? await openStdio(config) : await openHttp(config, http);
    const following = followConfig(config, server, async () => {
      // What was approved may have changed, and what was not may be approved by now.
      const { args, refused }: Choice = await choose(given);
      if (refused === undefined) return loadServeConfig(args);
      throw new GatewayError("CONFIG_INVALID", notApproved(refused));
    });
    // By convention, what makes a server read its config again.
    if (process.platform !== "win32") process.on("SIGHUP", () => void following.reload().catch(() => {}));
    await untilOver(server.ended, async (drainMs) => {
      following.end();
      await server.close({ drainMs });
    });
  },
});

interface Served extends Reloading {
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

async function openHttp(config: LoadedConfig, given: string): Promise<Served> {
  const port = given === "" ? PORT : Number(given);
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw usageError("The option --http needs a port.");
  const server = await serveHttp(config, { port });
  process.stderr.write(`toolpipe: serving ${server.gateway.tools.length} tools at ${server.url}\n`);
  return Object.assign(server, { how: server.url, ended: new Promise<void>(() => {}) });
}

interface Choice {
  readonly args: ConfigArgs;
  /** The config of the folder, which is not used. */
  readonly refused?: string | undefined;
}

/** Whoever sits at a terminal, or names a config, means it. A client does not know what the folder holds. */
async function chooseConfig(given: ConfigArgs): Promise<Choice> {
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
async function untilOver(gone: Promise<void>, close: (drainMs: number) => Promise<void>): Promise<void> {
  const drainMs = await Promise.race([
    gone.then(() => GONE_DRAIN_MS),
    untilTold().then(() => SIGNAL_DRAIN_MS),
  ]);
  await close(drainMs);
  // Whatever a plugin left open must not keep the process.
  process.exit(0);
}
