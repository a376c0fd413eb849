import process from "node:process";
import { GatewayError } from "../../../core/mod.ts";
import type { RequestTurns } from "../../../core/services/servers.ts";
import type { StdioConnection } from "../../../core/services/sources.ts";
import type { LineLimits } from "../../lib/lines.ts";
import { type ConnectMcpOptions, connectMcp, type McpUpstream } from "../session.ts";
import { isolatePackageRunner } from "./package-runner.ts";
import { createStdioTransport, messageLimits, type StdioTransport } from "./transport.ts";

/** Options of a connection to a process. */
export interface ConnectStdioOptions extends Omit<ConnectMcpOptions, "opening" | "explain"> {
  /** Limits of one message; 10 MB and 64 levels by default. */
  readonly limits?: LineLimits | undefined;
  /** A message must be read by the process within this time; 5,000 by default. */
  readonly writeDeadlineMs?: number | undefined;
}

/** A connection to a process. */
export interface StdioUpstream extends McpUpstream {
  health(): Pick<StdioTransport, "pid" | "degraded" | "counters" | "stderr">;
}

/**
 * Starts a server's process and connects to it. Variables in the connection are already filled in, and an
 * `envFile` is already part of `env`.
 */
export async function connectStdio(
  connection: StdioConnection,
  options: ConnectStdioOptions,
): Promise<StdioUpstream> {
  const { limits = messageLimits, writeDeadlineMs, ...rest } = options;
  const start = await isolatePackageRunner({ ...connection, env: createEnvironment(connection) });
  const { command, args, cwd, env } = start;
  let transport: StdioTransport | undefined;
  const newTransport = (): StdioTransport => {
    transport = createStdioTransport({ command, args, env, cwd, writeDeadlineMs }, limits);
    if (options.turns) limitRate(transport, options.turns);
    return transport;
  };
  const upstream = await connectMcp(newTransport, rest).catch((thrown) => {
    throw withErrorOutput(thrown, transport?.stderr ?? "");
  });
  return {
    ...upstream,
    health: () => ({
      pid: transport?.pid ?? null,
      degraded: transport?.degraded ?? false,
      counters: { ...(transport as StdioTransport).counters },
      stderr: transport?.stderr ?? "",
    }),
  };
}

/** Lets each request wait for its turn. */
function limitRate(transport: StdioTransport, turns: RequestTurns): void {
  const send = transport.send.bind(transport);
  transport.send = async (message, options) => {
    if ("method" in message && "id" in message) await turns.take();
    return send(message, options);
  };
}

/** Adds the error output, which often gives the reason. It may hold secrets, so it is a cause, which only logs show. */
function withErrorOutput(thrown: unknown, text: string): unknown {
  if (!GatewayError.is(thrown) || text === "") return thrown;
  const { kind, message, data } = thrown;
  return new GatewayError(kind, message, {
    data,
    cause: new Error(`Its error output ends with:\n${text.slice(-4_000)}`),
  });
}

const everywhere = "PATH HOME USER LOGNAME LANG TZ TMPDIR TERM SHELL".split(" ");
const onWindows =
  "PATH PATHEXT SYSTEMROOT SYSTEMDRIVE WINDIR COMSPEC APPDATA LOCALAPPDATA PROGRAMDATA PROGRAMFILES PROGRAMFILES(X86) PROGRAMW6432 USERPROFILE USERNAME HOMEDRIVE HOMEPATH TEMP TMP LANG TZ PROCESSOR_ARCHITECTURE NUMBER_OF_PROCESSORS".split(
    " ",
  );

/** Creates the environment of a process: the variables of its definition, and the few without which nothing starts. */
export function createEnvironment(
  { env, envNames = [] }: Pick<StdioConnection, "env" | "envNames">,
  own: Readonly<Record<string, string | undefined>> = process.env,
  platform: string = process.platform,
): Record<string, string> {
  // Windows knows one variable by any spelling of its name: two spellings would be one of them, at random.
  const spell = platform === "win32" ? (name: string) => name.toUpperCase() : (name: string) => name;
  const allowed = new Set((platform === "win32" ? onWindows : everywhere).map(spell));
  for (const name of envNames) allowed.add(spell(name));
  const named = new Set(Object.keys(env).map(spell));
  const result: Record<string, string> = {};
  for (const [name, value] of Object.entries(own)) {
    if (value === undefined || named.has(spell(name))) continue;
    if (allowed.has(spell(name)) || name.startsWith("LC_")) result[name] = value;
  }
  return { ...result, ...env };
}
