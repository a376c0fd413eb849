import type { ServerResponse } from "node:http";
import * as v from "valibot";
import { definePlugin, type Gateway, type PluginFactory } from "../core/mod.ts";
import { createWatchers } from "./_watchers.ts";
import { offerRoute } from "./serve/routes.ts";
import type {} from "./state/mod.ts";

/** Longer than this, and the state is as good as gone. */
const STATE_MS = 2_000;
/** Never written: only whether it can be read counts. */
const PROBE = "health/probe";

/** The options of {@link health}. */
export interface HealthOptions {
  /**
   * How long a gateway that is told to end still takes requests while `/readyz` says that it goes. By default as long
   * as those need to notice who ask there regularly: three of their questions and a second, 15 seconds at most, and not
   * at all where nobody does.
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

/** Whether a gateway is to be used, for whoever ends it. */
export interface Readiness {
  /** Says from now on that it is not; returns for how many milliseconds requests may still come. */
  leave(): number;
}

declare module "../core/gateway.ts" {
  interface Services {
    /** Offered by the plugin `health`. */
    readiness?: Readiness;
  }
}

/** Why a gateway cannot be used now; nothing where it can. */
export type Unready = "starting" | "closing" | "state";

/**
 * Answers whoever watches over the process: `/healthz` while it runs, `/readyz` while it can be used. Both may be asked
 * without a token, and tell nothing else.
 */
export const health: PluginFactory<"health", HealthOptions> = definePlugin({
  name: "health",
  options: options as v.GenericSchema<HealthOptions>,
  setup(gateway, { noticeMs }) {
    let phase: Unready | undefined = "starting";
    const watchers = createWatchers();
    gateway.services.readiness = {
      leave() {
        phase = "closing";
        return noticeMs ?? watchers.noticeMs();
      },
    };
    offerRoute(gateway, "/healthz", { open: true, handle: (_, response) => answer(response, undefined) });
    offerRoute(gateway, "/readyz", {
      open: true,
      async handle(request, response) {
        watchers.ask(request.socket.remoteAddress ?? "");
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
