import type { ServerResponse } from "node:http";
import * as v from "valibot";
import { definePlugin, type Gateway } from "../core/mod.ts";
import { STATE_DAMAGED } from "../core/services/state.ts";
import { waitAtMost } from "./lib/backoff.ts";
import { milliseconds, option } from "./lib/options.ts";

/** Milliseconds after which a state that does not answer counts as unavailable. */
const STATE_MS = 2_000;
/** A key that is never written: the read only has to succeed. */
const PROBE = "health/probe";

const options = v.strictObject({
  noticeMs: option(
    milliseconds(0),
    "Milliseconds for which a closing gateway takes requests while `/readyz` reports that it is not ready. By default as long as the readiness probes need to notice: three of their intervals and a second, at most 15 seconds; 0 without probes.",
  ),
});

/** Options of {@link health}. */
export type HealthOptions = v.InferInput<typeof options>;

/** The reason why a gateway is not ready. */
type Unready = "starting" | "closing" | "state";

/**
 * Serves the probes of load balancers and orchestrators: `/healthz` for the process, `/readyz` for readiness, with the
 * mode of presets that have several. Both are open, and tell nothing else.
 */
export const health = definePlugin({
  name: "health",
  uses: ["state?", "mode?"],
  provides: ["readiness"],
  options,
  setup(gateway, { noticeMs }) {
    let phase: Unready | undefined = "starting";
    const probes = createProbeLog();
    const damaged = new Set<string>();
    gateway.provide("readiness", {
      leave() {
        phase = "closing";
        return noticeMs ?? probes.noticeMs();
      },
    });
    gateway.register("route", "/healthz", {
      open: true,
      handle: (_, response) => answer(response, undefined, 0),
    });
    gateway.register("route", "/readyz", {
      open: true,
      async handle(request, response) {
        probes.add(request.socket.remoteAddress ?? "");
        const unready = phase ?? (await probeState(gateway));
        answer(response, unready, damaged.size, gateway.services.mode?.().name);
      },
    });
    return {
      ready() {
        if (phase === "starting") phase = undefined;
      },
      close() {
        phase = "closing";
      },
      error({ code, data }) {
        if (code === STATE_DAMAGED.code) damaged.add(String(data["location"]));
      },
    };
  },
});

async function probeState({ services: { state } }: Gateway): Promise<Unready | undefined> {
  let isReached = false;
  const read = Promise.resolve(state?.get(PROBE)).then(
    () => {
      isReached = true;
    },
    () => {},
  );
  await waitAtMost(read, STATE_MS);
  return isReached ? undefined : "state";
}

/** Damaged records refuse their own keys only, so a gateway that has met some is still ready. */
function answer(
  response: ServerResponse,
  unready: Unready | undefined,
  damaged: number,
  mode?: string,
): void {
  const body = {
    ...(unready === undefined ? { status: "ok" } : { status: "unready", because: unready }),
    ...(mode !== undefined && { mode }),
    ...(damaged > 0 && { damaged_records: damaged }),
  };
  response
    .writeHead(unready === undefined ? 200 : 503, {
      "content-type": "application/json",
      "cache-control": "no-store",
    })
    .end(JSON.stringify(body));
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
export function createProbeLog(now: () => number = () => performance.now()) {
  /** The last probe of each address, and the last two intervals; none after a single probe. */
  const probes = new Map<string, { readonly last: number; readonly pauses: readonly number[] }>();

  return {
    /** Records a probe from an address. */
    add(address: string): void {
      const { last, pauses = [] } = probes.get(address) ?? {};
      const pause = last === undefined ? EXPIRY_MS : now() - last;
      // To the end, so that the address without a probe for longest is dropped first.
      probes.delete(address);
      probes.set(address, { last: now(), pauses: pause < EXPIRY_MS ? [pause, ...pauses.slice(0, 1)] : [] });
      const [oldest] = probes.keys();
      if (probes.size > MAX_SOURCES && oldest !== undefined) probes.delete(oldest);
    },
    /** Milliseconds that all of them need to notice a changed answer; 0 without any. */
    noticeMs() {
      const pauses = [...probes.values()]
        .filter(({ last }) => now() - last < EXPIRY_MS)
        .flatMap((source) => source.pauses);
      if (pauses.length === 0) return 0;
      return Math.min(MAX_NOTICE_MS, Math.ceil(FAILED_PROBES * Math.max(...pauses)) + REACTION_MS);
    },
  };
}
