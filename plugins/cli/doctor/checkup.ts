import type { Gateway, GatewayError, LoadedConfig, Plugin } from "../../../core/mod.ts";
import type { ServerStatus } from "../../../core/services/servers.ts";
import { toolsOf } from "../../lib/servers.ts";
import { isHeld, statusesOf, waitingLine } from "../../lib/terminal/servers.ts";
import { hasPlugin } from "../context.ts";
import { costOfServer } from "../cost.ts";

/** Servers that are started at once: more would make each other look slow. */
const PARALLEL = 5;

/** What became of one server. */
export interface Checked {
  readonly status: ServerStatus;
  /** Whether it said what it has, just now. */
  readonly ok: boolean;
  /** From its start to its answer; absent where it was not started. */
  readonly ms?: number;
  readonly tools: number;
  /** What its definitions would cost an agent. */
  readonly tokens: number;
  /** What it failed with, and in its `cause` what only a person may see. */
  readonly error?: GatewayError | undefined;
}

/** Hears what servers fail with: their status has the message alone. */
export interface Failures {
  readonly plugin: Plugin;
  of(status: ServerStatus): GatewayError | undefined;
}

/** Makes what must be one of the gateway's plugins for failures to be heard. */
export function hearFailures(): Failures {
  const heard = new Map<string, GatewayError>();
  return {
    plugin: {
      name: "hear-failures",
      setup: () => ({ error: (error) => void heard.set(error.message, error) }),
    },
    of: ({ reason }) => heard.get(reason),
  };
}

/** A config whose servers can be timed: none waits for its turn within the gateway. */
export function timedConfig(config: LoadedConfig): LoadedConfig {
  if (!hasPlugin(config, "upstreams")) return config;
  const upstreams = { ...config.options?.["upstreams"], discover: "none", maxParallelDiscoveries: PARALLEL };
  return { ...config, options: { ...config.options, upstreams } };
}

/** Starts every server that may be started, a few at a time, and asks for its tools. */
export async function checkServers(gateway: Gateway, failures: Failures): Promise<readonly Checked[]> {
  const all = statusesOf(gateway);
  const times = new Map<string, number>();
  const queue = all.filter((status) => !isHeld(status)).map(({ name }) => name);
  const open = new Set(queue);
  let done = (): void => {};
  const show = (): void => {
    done();
    if (open.size > 0) done = waitingLine(waitingFor([...open]));
  };
  const work = async (): Promise<void> => {
    for (let name = queue.shift(); name !== undefined; name = queue.shift()) {
      const start = performance.now();
      await gateway.services.servers?.refresh(name);
      times.set(name, Math.round(performance.now() - start));
      open.delete(name);
      show();
    }
  };
  show();
  try {
    // Loading our own modules must not count as the delay of the first server.
    await Promise.all([...gateway.drivers("upstream").values()].map((driver) => driver.load?.()));
    await Promise.all(Array.from({ length: PARALLEL }, work));
  } finally {
    done();
  }
  return all.map(({ name }) => checked(gateway, name, times.get(name), failures));
}

function checked(gateway: Gateway, name: string, ms: number | undefined, failures: Failures): Checked {
  const status = gateway.services.servers?.status(name) as ServerStatus;
  const ok = status.status === "connected";
  const tools = ok ? toolsOf(gateway, name).filter(({ enabled }) => enabled) : [];
  return {
    status,
    ok,
    ...(ms !== undefined && { ms }),
    tools: tools.length,
    tokens: ok ? costOfServer(tools, status.info) : 0,
    ...(!ok && { error: failures.of(status) }),
  };
}

/** Fits on a line: one that wraps could not be taken away again. */
function waitingFor(names: readonly string[]): string {
  const [first = "", second] = names;
  const more = names.length > 2 ? ` and ${names.length - 2} more` : "";
  const shown = [first, ...(second === undefined ? [] : [second])].map((name) => name.slice(0, 20));
  return `Waiting for ${shown.join(", ")}${more} …`;
}
