import { type Actor, type Gateway, version } from "../../core/mod.ts";
import type { PendingApproval } from "../../core/services/approvals.ts";
import type { TokenSaving } from "../lib/tokens.ts";
import { type CallHistory, toDisplayText } from "./call-history.ts";

/** The status of a server. */
interface ServerSummary {
  readonly name: string;
  readonly status: string;
  readonly reason: string;
  /** Its own title and version. */
  readonly title: string;
  /** Tools that can be called. */
  readonly enabled: number;
  readonly tools: number;
}

/** An item that waits for approval, as the page shows it and sends it back with a decision. */
export type PendingRow = Pick<PendingApproval, "kind" | "id" | "status" | "summary" | "hash">;

/** The data of the page. */
export type Overview = ReturnType<typeof createOverview>;

const MAX_SERVERS = 500;
const MAX_PENDING = 200;

/** Creates the data of the page. It holds no arguments and no results, and strings of servers are redacted. */
export function createOverview({
  gateway,
  history,
  actor,
  since,
  pending,
  ...rest
}: {
  readonly gateway: Gateway;
  readonly history: CallHistory;
  /** Changes with every start: earlier counts no longer apply. */
  readonly boot: string;
  /** The token that a decision must be sent with. */
  readonly token: string;
  readonly actor: Actor | undefined;
  /** The last call that the page has. */
  readonly since: number;
  readonly tokens: TokenSaving;
  readonly pending: readonly PendingRow[];
}) {
  const rows = listServers(gateway);
  return {
    version,
    now: Date.now(),
    actor: toDisplayText(actor?.id ?? ""),
    ...rest,
    servers: rows.slice(0, MAX_SERVERS),
    serverCount: rows.length,
    tools: gateway.catalog.tools().length,
    load: readLoad(gateway),
    series: history.series(),
    live: history.live(),
    pending: pending.slice(0, MAX_PENDING),
    calls: history.seen(since),
  };
}

/** Reads the gauges of the plugin `overload`, if it is there. */
function readLoad(gateway: Gateway) {
  const read = (name: string): number | undefined => gateway.drivers("gauge").get(name)?.read()[0]?.value;
  const [running, waiting] = [read("toolpipe_load_running"), read("toolpipe_load_waiting")];
  if (running === undefined || waiting === undefined) return null;
  return { running, waiting, refused: read("toolpipe_load_refused_total") ?? 0 };
}

/** Lists what waits for approval. */
export async function listPending({ services }: Gateway): Promise<readonly PendingRow[]> {
  const items = (await services.approvals?.pending()) ?? [];
  return items.map(({ kind, id, status, summary, hash }) => ({
    kind,
    id,
    status,
    summary: toDisplayText(summary),
    hash,
  }));
}

/** Servers that need attention come first. */
const order = ["error", "needs-approval", "needs-auth", "connected", "disconnected", "ready"];

function listServers(gateway: Gateway): readonly ServerSummary[] {
  const { catalog, services } = gateway;
  const counts = new Map<string, { tools: number; enabled: number }>();
  for (const { server, enabled } of catalog.tools()) {
    const own = counts.get(server) ?? { tools: 0, enabled: 0 };
    own.tools++;
    if (enabled) own.enabled++;
    counts.set(server, own);
  }
  const count = (name: string) => counts.get(name) ?? { tools: 0, enabled: 0 };
  const statuses = services.servers?.statuses() ?? [];
  const known = new Set(statuses.map(({ name }) => name));
  const connected = statuses.map(
    ({ name, status, reason, info }): ServerSummary => ({
      name,
      status,
      reason: toDisplayText(reason),
      title: toDisplayText([info?.title ?? info?.name, info?.version].filter(Boolean).join(" ")),
      ...count(name),
    }),
  );
  // Servers without a connection: adapters of REST APIs, tools of the host program.
  const others = catalog
    .servers()
    .filter(({ id }) => !known.has(id))
    .map(
      ({ id, title }): ServerSummary => ({
        name: id,
        status: "ready",
        reason: "",
        title: toDisplayText(title ?? ""),
        ...count(id),
      }),
    );
  return [...connected, ...others].toSorted(
    (a, b) => order.indexOf(a.status) - order.indexOf(b.status) || (a.name < b.name ? -1 : 1),
  );
}
