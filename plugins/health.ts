import type { ServerResponse } from "node:http";
import { definePlugin, type Gateway, type PluginFactory } from "../core/mod.ts";
import { offerRoute } from "./serve/routes.ts";
import type {} from "./state/mod.ts";

/** Longer than this, and the state is as good as gone. */
const STATE_MS = 2_000;
/** Never written: only whether it can be read counts. */
const PROBE = "health/probe";

/** Why a gateway cannot be used now; nothing where it can. */
export type Unready = "starting" | "closing" | "state";

/**
 * Answers whoever watches over the process: `/healthz` while it runs, `/readyz` while it can be used. Both may be asked
 * without a token, and tell nothing else.
 */
export const health: PluginFactory<"health"> = definePlugin({
  name: "health",
  setup(gateway) {
    let phase: Unready | undefined = "starting";
    offerRoute(gateway, "/healthz", { open: true, handle: (_, response) => answer(response, undefined) });
    offerRoute(gateway, "/readyz", {
      open: true,
      handle: async (_, response) => answer(response, phase ?? (await stateOf(gateway))),
    });
    return {
      ready() {
        phase = undefined;
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
