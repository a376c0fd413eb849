import type { Gateway } from "../../core/mod.ts";
import { hashServer } from "../lib/hash.ts";
import { isHeld, isIdle, listServerRows, type ServerRow } from "../lib/servers.ts";
import { type RunningServer, requestStatus } from "./gateway-requests.ts";
import { listRunningGateways } from "./running-gateways.ts";

/** Server as commands show it, with what running gateways of the same config know. */
export interface ShownServer extends ServerRow {
  /** Whether it works as far as known, and connects when it is used. */
  readonly isIdle: boolean;
}

/** Lists every server. A command connects to few of them; gateways that run with the same config know the others. */
export async function listShownServers(gateway: Gateway): Promise<readonly ShownServer[]> {
  const running = await askRunningGateways(gateway);
  return listServerRows(gateway).map((row) => {
    const own = gateway.services.servers?.status(row.name);
    const hash = own && hashServer(own.config);
    const known = running.filter((one) => one.name === row.name && one.hash === hash);
    const isKnownHere = !own || own.status === "connected" || own.status === "error" || isHeld(own);
    const other = isKnownHere ? undefined : findTelling(known);
    if (!other) return { ...row, isIdle: own !== undefined && isIdle(own) };
    return other.status === "connected"
      ? { ...row, status: "connected", reason: "A running gateway is connected to it.", isIdle: false }
      : { ...row, status: other.shown, reason: other.reason, isIdle: false };
  });
}

/** Finds a state that tells more than that a server is not in use: connected somewhere, else failing. */
function findTelling(known: readonly RunningServer[]): RunningServer | undefined {
  return (
    known.find(({ status }) => status === "connected") ??
    known.find(({ status }) => status === "error" || status === "needs-auth")
  );
}

async function askRunningGateways({ configFile }: Gateway): Promise<readonly RunningServer[]> {
  const gateways = await listRunningGateways().catch(() => []);
  const same = gateways.filter(({ config }) => config === (configFile ?? null));
  return (await Promise.all(same.map(requestStatus))).flat();
}
