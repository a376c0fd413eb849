import { type Gateway, GatewayError, nearest, type Tool } from "../../core/mod.ts";
import type { Adapter, AuthType, Overlay } from "../../core/services/adapters.ts";
import type { ServerStatus } from "../../core/services/servers.ts";
import { someOf } from "../../plugins/lib/servers.ts";
import { operationIds } from "./operation-ids.ts";
import { optionsOf, say } from "./options-of.ts";
import { overlays } from "./overlays.ts";

/** What is known of an adapter, a REST API or an MCP server, and how it stands. */
export interface AdapterInfo extends Adapter {
  /** Its server in the catalog. */
  readonly server: string;
  /** Whether it can be used. */
  readonly status: "operational" | "unavailable" | "needs-approval" | "needs-auth";
  /** Why it cannot be used; not there where it can. */
  readonly reason?: string | undefined;
}

/** Every adapter, also one that cannot be used: it must not disappear for that. */
export function adaptersOf(gateway: Gateway): AdapterInfo[] {
  const { servers, adapters } = gateway.services;
  const ids = new Set([
    ...gateway.catalog.servers().map(({ id }) => id),
    ...(adapters?.list() ?? []).map(({ id }) => id),
    ...(servers?.statuses() ?? []).map(({ name }) => name),
  ]);
  return [...ids].map((server) => adapterInfo(gateway, server));
}

/** What is known of the adapter that a server is. */
export function adapterInfo(gateway: Gateway, server: string): AdapterInfo {
  const { servers, adapters } = gateway.services;
  const api = adapters?.get(server);
  const id = operationIds(gateway).adapterOf(server);
  const told = optionsOf(gateway).overlays;
  const overlay = { ...own(overlays, id), ...own(told, id), ...own(told, server) };
  if (api) {
    const said = own(told, id) ?? {};
    const status = api.problem === undefined ? "operational" : "unavailable";
    return { ...api, ...definedOf(said), server, status, reason: api.problem };
  }
  return ofServer(gateway, server, id, overlay, servers?.status(server));
}

/** The adapter that is meant: by its id, its name, or the name of its server. Throws where there is none. */
export function findAdapter(gateway: Gateway, given: string): AdapterInfo {
  const server = operationIds(gateway).serverOf(given) ?? given;
  const all = adaptersOf(gateway);
  const text = given.trim().toLowerCase();
  const found =
    all.find((adapter) => adapter.server === server) ??
    all.find(({ id, name }) => id.toLowerCase() === text || name.toLowerCase() === text);
  if (found) return found;
  const ids = all.map(({ id }) => id);
  const hint = nearest(given, ids);
  const there =
    ids.length > 0
      ? ` The adapters are ${someOf(ids)}.`
      : " There are no adapters at all; none is configured.";
  throw new GatewayError(
    "TOOL_NOT_FOUND",
    `There is no adapter "${given.slice(0, 80)}".${hint ? ` Did you mean "${hint}"?` : ""}${there}`,
    {
      data: {
        adapter: given,
        suggestions: hint ? [hint] : [],
        suggestion: say(gateway, "Use gateway.adapters to see what there is"),
      },
    },
  );
}

/** The tools of an adapter that can be called, in the order of its document or server. */
export function toolsOf(gateway: Gateway, { server }: Pick<AdapterInfo, "server">): readonly Tool[] {
  if (gateway.catalog.server(server)?.builtin) return [];
  return gateway.catalog.tools(server).filter(({ enabled }) => enabled);
}

function ofServer(
  gateway: Gateway,
  server: string,
  id: string,
  overlay: Overlay,
  status: ServerStatus | undefined,
): AdapterInfo {
  const known = gateway.catalog.server(server);
  const names = new Set(gateway.catalog.tools(server).map(({ name }) => name));
  const ids = operationIds(gateway);
  const common = (overlay.commonOperations ?? []).flatMap((given) => {
    const name = given.slice(given.indexOf(":") + 1);
    const tool = names.has(name) ? gateway.catalog.tool(`${server}:${name}`) : ids.tools.get(`${id}:${name}`);
    return tool ? [ids.idOf(tool)] : [];
  });
  return {
    id,
    server,
    name: overlay.name ?? known?.title ?? server,
    description: overlay.description ?? known?.description ?? status?.config.description ?? "",
    category: overlay.category ?? "general",
    capabilities: overlay.capabilities ?? [],
    countries: overlay.countries ?? [],
    currencies: overlay.currencies ?? [],
    authType: authOf(status),
    envVar: bearerOf(status),
    documentation: overlay.documentation,
    commonOperations: common,
    errors: overlay.errors ?? [],
    bestPractices: overlay.bestPractices ?? [],
    webhooks: overlay.webhooks,
    ...standingOf(status),
  };
}

/** One that is only not connected is so when it is needed. */
function standingOf(status: ServerStatus | undefined): Pick<AdapterInfo, "status" | "reason"> {
  if (!status) return { status: "operational" };
  const { status: state, reason, config } = status;
  if (state === "needs-approval" || state === "needs-auth") return { status: state, reason };
  if (state === "error" || config.disabled) return { status: "unavailable", reason };
  return { status: "operational" };
}

function authOf(status: ServerStatus | undefined): AuthType {
  const connection = status?.config.connection;
  if (!connection || connection.type === "stdio") return "none";
  if (status.status === "needs-auth" || connection.oauth) return "oauth2";
  const names = Object.keys(connection.headers).map((name) => name.toLowerCase());
  return connection.bearerEnv !== undefined || names.includes("authorization") ? "bearer" : "none";
}

function bearerOf(status: ServerStatus | undefined): string | undefined {
  const connection = status?.config.connection;
  return connection && connection.type !== "stdio" ? connection.bearerEnv : undefined;
}

function own<T>(record: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

/** What an overlay says of an API that its own options do not. */
function definedOf({ commonOperations: _, envVar: __, idempotencyHeader: ___, ...said }: Overlay): object {
  return Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined));
}
