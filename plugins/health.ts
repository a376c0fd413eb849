import type { ServerResponse } from "node:http";
import * as v from "valibot";
import { definePlugin, type Gateway, type PluginFactory } from "../core/mod.ts";

/** A state that answers later than this counts as unavailable. */
const STATE_MS = 2_000;
/** A key that is never written: only whether it can be read counts. */
const PROBE = "health/probe";

/** Options of {@link health}. */
export interface HealthOptions {
  /**
   * How long a closing gateway takes requests while `/readyz` reports that it is not ready. By default as long as the
   * readiness probes need to notice: three of their intervals and a second, at most 15 seconds; 0 without probes.
   */
  readonly noticeMs?: number;
}

const options = v.strictObject({
  noticeMs: v.optional(
    v.pipe(
      v.number(),
      v.minValue(0, "a number of milliseconds, 0 or more"),
      v.maxValue(2 ** 31 - 1, "a number of milliseconds that a timer can hold"),
    ),
  ),
});

/** The reason why a gateway is not ready. */
export type Unready = "starting" | "closing" | "state";

/**
 * Serves the probes of load balancers and orchestrators: `/healthz` for the process, `/readyz` for readiness. Both are
 * open, and tell nothing else.
 */
export const health: PluginFactory<"health", HealthOptions> = definePlugin({
  name: "health",
  uses: ["state?"],
  provides: ["readiness"],
  options: options as v.GenericSchema<HealthOptions>,
  setup(gateway, { noticeMs }) {
    let phase: Unready | undefined = "starting";
    const probes = createProbeLog();
    gateway.provide("readiness", {
      leave() {
        phase = "closing";
        return noticeMs ?? probes.noticeMs();
      },
    });
    gateway.register("route", "/healthz", {
      open: true,
      handle: (_, response) => answer(response, undefined),
    });
    gateway.register("route", "/readyz", {
      open: true,
      async handle(request, response) {
        probes.ask(request.socket.remoteAddress ?? "");
        answer(response, phase ?? (await stateOf(gateway)));
      },
    });
    return {
      ready() {
        if (phase === "starting") phase = undefined;
      },
      close() {
        phase = "closing";
      },
    };
  },
});

async function stateOf({ services: { state } }: Gateway): Promise<Unready | undefined> {
  if (!state) return undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(reject, STATE_MS);
  });
  try {
    await Promise.race([state.get(PROBE), late]);
    return undefined;
  } catch {
    return "state";
  } finally {
    clearTimeout(timer);
  }
}

function answer(response: ServerResponse, unready: Unready | undefined): void {
  const body = unready === undefined ? { status: "ok" } : { status: "unready", because: unready };
  response
    .writeHead(unready === undefined ? 200 : 503, {
      "content-type": "application/json",
      "cache-control": "no-store",
    })
    .end(JSON.stringify(body));
}

/** Sources of readiness probes, such as load balancers. */
export interface ProbeLog {
  /** Records a probe from an address. */
  ask(from: string): void;
  /** How long all of them need to notice a changed answer; 0 without any. */
  noticeMs(): number;
}

/** The recent probes of one address. */
interface ProbeSource {
  readonly last: number;
  /** The last two intervals between probes; none after a single probe. */
  readonly pauses: readonly number[];
}

/** By default HAProxy and Kubernetes act on the third failed probe in a row. */
const FAILED_PROBES = 3;
/** The time that a load balancer needs to act. */
const REACTION_MS = 1_000;
/** Rarer probes are not waited for: running calls have to finish too. */
const MAX_NOTICE_MS = 15_000;
/** An address without a probe for this long has stopped probing. */
const EXPIRY_MS = 60_000;
/** Probes are open, so there may be many addresses. */
const MAX_SOURCES = 64;

/** Records the probes by address. */
export function createProbeLog(now: () => number = () => performance.now()): ProbeLog {
  const probes = new Map<string, ProbeSource>();

  return {
    ask(from) {
      const { last, pauses = [] } = probes.get(from) ?? {};
      const pause = last === undefined ? EXPIRY_MS : now() - last;
      // To the end, so that the address without a probe for longest is dropped first.
      probes.delete(from);
      probes.set(from, {
        last: now(),
        pauses: pause < EXPIRY_MS ? [pause, ...pauses.slice(0, 1)] : [],
      });
      const [oldest] = probes.keys();
      if (probes.size > MAX_SOURCES && oldest !== undefined) probes.delete(oldest);
    },
    noticeMs() {
      const pauses = [...probes.values()]
        .filter(({ last }) => now() - last < EXPIRY_MS)
        .flatMap((watcher) => watcher.pauses);
      if (pauses.length === 0) return 0;
      return Math.min(MAX_NOTICE_MS, Math.ceil(FAILED_PROBES * Math.max(...pauses)) + REACTION_MS);
    },
  };
}
