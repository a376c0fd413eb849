import { GatewayError } from "../../../core/mod.ts";
import type { StdioConnection } from "../../../core/services/sources.ts";
import type { LineLimits } from "../../lib/lines.ts";
import { type ConnectMcpOptions, connectMcp, type McpUpstream } from "../session.ts";
import { childEnvironment } from "./environment.ts";
import { messageLimits, type StdioCounters, type StdioTransport, stdioTransport } from "./transport.ts";

/** Options of a connection to a process. */
export interface ConnectStdioOptions extends Omit<ConnectMcpOptions, "opening" | "explain"> {
  /** Limits of one message; 10 MB and 64 levels by default. */
  readonly limits?: LineLimits | undefined;
  /** A message must be read by the process within this time; 5,000 by default. */
  readonly writeDeadlineMs?: number | undefined;
}

/** The health of a process. */
export interface StdioHealth {
  readonly pid: number | null;
  /** Whether it writes much that is no message; it is used all the same. */
  readonly degraded: boolean;
  readonly counters: Readonly<StdioCounters>;
  /** The end of its error output. For users to read: it may hold secrets. */
  readonly stderr: string;
}

/** A connection to a process. */
export interface StdioUpstream extends McpUpstream {
  health(): StdioHealth;
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
  const { command, args, cwd } = connection;
  const env = childEnvironment(connection);
  let transport: StdioTransport | undefined;
  const newTransport = (): StdioTransport => {
    transport = stdioTransport({ command, args, env, cwd, writeDeadlineMs }, limits);
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

/** Adds the error output, which often gives the reason. It may hold secrets, so it is a cause, which only logs show. */
function withErrorOutput(thrown: unknown, text: string): unknown {
  if (!GatewayError.is(thrown) || text === "") return thrown;
  const { kind, message, data } = thrown;
  return new GatewayError(kind, message, {
    data,
    cause: new Error(`Its error output ends with:\n${text.slice(-4_000)}`),
  });
}
