import { type Actor, type Gateway, version } from "../../core/mod.ts";
import type { TokenSaving } from "../metrics/tokens.ts";
import type { Load } from "../overload.ts";
import type { Pending } from "./pending.ts";
import type { Series } from "./timeline.ts";
import { type LiveCall, type SeenCall, shownText, type Watching } from "./watching.ts";

/** How a server stands. */
export interface ServerRow {
  readonly name: string;
  readonly status: string;
  readonly reason: string;
  /** What it calls itself, with its version. */
  readonly title: string;
  /** Tools that can be called. */
  readonly enabled: number;
  readonly tools: number;
}

/** Everything that the page shows. */
export interface Overview {
  readonly version: string;
  /** Changes with every start: what was counted before counts no longer. */
  readonly boot: string;
  readonly now: number;
  readonly actor: string;
  /** What a decision must be sent with. */
  readonly token: string;
  readonly servers: readonly ServerRow[];
  /** How many there are, where not all are listed. */
  readonly serverCount: number;
  readonly tools: number;
  readonly tokens: TokenSaving;
  readonly load: Load | null;
  readonly series: Series;
  readonly live: readonly LiveCall[];
  readonly pending: readonly Pending[];
  /** The calls since the last look. */
  readonly calls: readonly SeenCall[];
}

/** What an overview is made from. */
export interface OverviewParts {
  readonly gateway: Gateway;
  readonly watching: Watching;
  readonly boot: string;
  readonly token: string;
  readonly actor: Actor | undefined;
  readonly since: number;
  readonly tokens: TokenSaving;
  readonly pending: readonly Pending[];
}

const MAX_SERVERS = 500;
const MAX_PENDING = 200;

/** Makes an overview. Nothing in it holds arguments or results, and what servers say is without what looks secret. */
export function overviewOf({ gateway, watching, actor, since, pending, ...rest }: OverviewParts): Overview {
  const rows = serverRows(gateway);
  return {
    version,
    now: Date.now(),
    actor: shownText(actor?.id ?? ""),
    ...rest,
    servers: rows.slice(0, MAX_SERVERS),
    serverCount: rows.length,
    tools: gateway.catalog.tools().length,
    load: gateway.services.load?.() ?? null,
    series: watching.series(),
    live: watching.live(),
    pending: pending.slice(0, MAX_PENDING),
    calls: watching.seen(since),
  };
}

/** Those that need somebody come first. */
const order = ["error", "needs-approval", "needs-auth", "connected", "disconnected", "ready"];

function serverRows(gateway: Gateway): readonly ServerRow[] {
  const { catalog, services } = gateway;
  const counts = new Map<string, { tools: number; enabled: number }>();
  for (const { server, enabled } of catalog.tools()) {
    const own = counts.get(server) ?? { tools: 0, enabled: 0 };
    own.tools++;
    if (enabled) own.enabled++;
    counts.set(server, own);
  }
  const count = (name: string) => counts.get(name) ?? { tools: 0, enabled: 0 };
  const statuses = services.upstreams?.statuses() ?? [];
  const known = new Set(statuses.map(({ name }) => name));
  const connected = statuses.map(
    ({ name, status, reason, info }): ServerRow => ({
      name,
      status,
      reason: shownText(reason),
      title: shownText([info?.title ?? info?.name, info?.version].filter(Boolean).join(" ")),
      ...count(name),
    }),
  );
  // What has no connection to lose: the adapters of REST APIs, tools of the gateway's host.
  const others = catalog
    .servers()
    .filter(({ id }) => !known.has(id))
    .map(
      ({ id, title }): ServerRow => ({
        name: id,
        status: "ready",
        reason: "",
        title: shownText(title ?? ""),
        ...count(id),
      }),
    );
  return [...connected, ...others].toSorted(
    (a, b) => order.indexOf(a.status) - order.indexOf(b.status) || (a.name < b.name ? -1 : 1),
  );
}
