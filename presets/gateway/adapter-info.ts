import { STATUS_CODES } from "node:http";
import { type Gateway, GatewayError, type JsonObject, nearest, type Tool } from "../../core/mod.ts";
import type { Adapter, AuthType, Overlay } from "../../core/services/adapters.ts";
import type { ServerStatus } from "../../core/services/servers.ts";
import { joinNames, listServerTools } from "../../plugins/lib/servers.ts";
import { deriveCapabilities, deriveCommonOperations } from "./derive.ts";
import { getOperationIds } from "./operations.ts";
import { getSettings, spellToolNames } from "./options.ts";
import { overlays } from "./overlays.ts";

/** An adapter, that is a REST API or an MCP server, with its status. */
export interface AdapterInfo extends Adapter {
  /** Its server in the catalog. */
  readonly server: string;
  readonly status: "operational" | "unavailable" | "needs-approval" | "needs-auth";
  /** Reason why it cannot be used. */
  readonly reason?: string | undefined;
}

/** Lists every adapter in the order of the config, also those that cannot be used. */
export function listAdapters(gateway: Gateway): AdapterInfo[] {
  const { servers, adapters } = gateway.services;
  // The catalog has them in the order in which their documents and lists were read.
  const ids = new Set([
    ...(adapters?.list() ?? []).map(({ id }) => id),
    ...(servers?.statuses() ?? []).map(({ name }) => name),
    ...gateway.catalog.servers().map(({ id }) => id),
  ]);
  return [...ids].map((server) => getAdapter(gateway, server));
}

/** Categories that the specification names. */
const CATEGORIES = ["payments", "infrastructure", "analytics", "storage", "communication"];

/** Lists the categories that adapters can be filtered by: those of the specification, those of the adapters, and `all`. */
export function listCategories(gateway: Gateway): string[] {
  const own = listAdapters(gateway).map(({ category }) => category);
  return [...new Set([...CATEGORIES, ...own.sort()]), "all"];
}

/** Returns the adapter of a server. */
export function getAdapter(gateway: Gateway, server: string): AdapterInfo {
  const api = gateway.services.adapters?.get(server);
  const id = getOperationIds(gateway).getAdapterId(server);
  const configured = getSettings(gateway).overlays;
  if (!api) {
    const overlay = { ...getOwn(overlays, id), ...getOwn(configured, id), ...getOwn(configured, server) };
    return describeServer(gateway, server, id, overlay);
  }
  // These three belong to the options of the plugin `openapi`.
  const { commonOperations: _, envVar: __, idempotencyHeader: ___, ...rest } = getOwn(configured, id) ?? {};
  const overlay = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined));
  const status = api.problem === undefined ? "operational" : "unavailable";
  return { ...api, ...overlay, server, status, reason: api.problem };
}

/** Finds an adapter by its id, its name, or the name of its server. Throws where there is none. */
export function findAdapter(gateway: Gateway, given: string): AdapterInfo {
  const server = getOperationIds(gateway).getServer(given) ?? given;
  const all = listAdapters(gateway);
  const wanted = given.trim().toLowerCase();
  const found =
    all.find((adapter) => adapter.server === server) ??
    all.find(({ id, name }) => id.toLowerCase() === wanted || name.toLowerCase() === wanted);
  if (found) return found;
  const ids = all.map(({ id }) => id);
  const hint = nearest(given, ids);
  const existing =
    ids.length > 0
      ? ` The adapters are ${joinNames(ids)}.`
      : " There are no adapters at all; none is configured.";
  throw new GatewayError(
    "TOOL_NOT_FOUND",
    `There is no adapter "${given.slice(0, 80)}".${hint ? ` Did you mean "${hint}"?` : ""}${existing}`,
    {
      data: {
        adapter: given,
        suggestions: hint ? [hint] : [],
        suggestion: spellToolNames(gateway, "Use gateway.adapters to see what there is"),
      },
    },
  );
}

/** Lists the enabled tools of an adapter, in the order of its document or server. */
export function listAdapterTools(gateway: Gateway, { server }: Pick<AdapterInfo, "server">): readonly Tool[] {
  return listServerTools(gateway, server).filter(({ enabled }) => enabled);
}

function describeServer(gateway: Gateway, server: string, id: string, overlay: Overlay): AdapterInfo {
  const { catalog, services } = gateway;
  const known = catalog.server(server);
  const status = services.servers?.status(server);
  const ids = getOperationIds(gateway);
  const commonOperations = (overlay.commonOperations ?? []).flatMap((given) => {
    const name = given.slice(given.indexOf(":") + 1);
    const named = catalog.tool(`${server}:${name}`);
    const tool = named?.server === server ? named : ids.tools.get(`${id}:${name}`);
    return tool ? [ids.getId(tool)] : [];
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
    ...getServerAuth(status),
    documentation: overlay.documentation,
    commonOperations,
    errors: overlay.errors ?? [],
    bestPractices: overlay.bestPractices ?? [],
    webhooks: overlay.webhooks,
    ...getAdapterStatus(status),
  };
}

/** Returns the status of an adapter. A server that is only disconnected connects when it is used. */
function getAdapterStatus(server: ServerStatus | undefined): Pick<AdapterInfo, "status" | "reason"> {
  if (!server) return { status: "operational" };
  const { status, reason, config } = server;
  if (status === "needs-approval" || status === "needs-auth") return { status, reason };
  if (status === "error" || config.disabled) return { status: "unavailable", reason };
  return { status: "operational" };
}

function getServerAuth(status: ServerStatus | undefined): {
  authType: AuthType;
  envVar?: string | undefined;
} {
  const connection = status?.config.connection;
  if (!connection || connection.type === "stdio") return { authType: "none" };
  const { bearerEnv: envVar, headers, oauth } = connection;
  if (status.status === "needs-auth" || oauth) return { authType: "oauth2", envVar };
  const hasHeader = Object.keys(headers).some((name) => name.toLowerCase() === "authorization");
  return { authType: envVar !== undefined || hasHeader ? "bearer" : "none", envVar };
}

function getOwn<T>(record: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

/** Created on first use: it takes 10 ms, since Node loads its language data. */
let regions: Intl.DisplayNames | undefined;

/** Returns the English name of a country code. */
export function getCountryName(code: string): string | undefined {
  if (!/^[A-Za-z]{2}$/.test(code)) return undefined;
  regions ??= new Intl.DisplayNames(["en"], { type: "region", fallback: "none" });
  return regions.of(code.toUpperCase());
}

/** Whether an adapter lists a country, by its code or its English name. */
export function hasCountry({ countries }: Pick<AdapterInfo, "countries">, country: string): boolean {
  const wanted = country.trim().toLowerCase();
  return countries.some(
    (code) => code.toLowerCase() === wanted || getCountryName(code)?.toLowerCase() === wanted,
  );
}

/** Whether an adapter lists a capability, however its words are joined: `card_payments` is `card payments`. */
export function hasCapability({ capabilities }: Pick<AdapterInfo, "capabilities">, wanted: string): boolean {
  const join = (words: string): string => words.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "");
  const key = join(wanted);
  return key !== "" && capabilities.some((capability) => join(capability).includes(key));
}

/** Returns the capabilities of an adapter: declared ones, or else those that its operations tell. */
export function getCapabilities(gateway: Gateway, { capabilities, server }: AdapterInfo): readonly string[] {
  return capabilities.length > 0 ? capabilities : deriveCapabilities(gateway, server);
}

/** Returns the common operations of an adapter: declared ones that exist, or else those that its operations tell. */
export function getCommonOperations(
  gateway: Gateway,
  { commonOperations, server }: AdapterInfo,
): readonly string[] {
  return commonOperations.length > 0 ? commonOperations : deriveCommonOperations(gateway, server);
}

/** Lists the words by which an adapter is found besides its operations. */
export function listLabels(adapter: AdapterInfo): readonly string[] {
  const { id, name, category, capabilities, countries, currencies } = adapter;
  const countryNames = countries.flatMap((code) => getCountryName(code) ?? []);
  return [id, name, category, ...capabilities, ...countryNames, ...currencies];
}

/** Describes a failure that a document names by its HTTP status: by the name of the status, with a fix. */
export function describeHttpError(adapter: AdapterInfo, status: string, meaning: string): JsonObject {
  const name =
    STATUS_CODES[status]?.toLowerCase().replace(/[^a-z]+/g, "_") ??
    (status === "default" ? "unspecified" : `http_${status.toLowerCase()}`);
  return { code: name, status, meaning, fix: suggestFix(status, adapter) };
}

/** Suggests a fix for an HTTP status. */
function suggestFix(status: string, { envVar }: AdapterInfo): string {
  if (status === "401" || status === "403") {
    return envVar ? `Check ${envVar}, and what it is allowed to do` : "Check the credential";
  }
  if (status === "404") return "Check the ids in params";
  if (status === "429") return "Wait, then try again";
  if (/^5/.test(status)) return "Try again later; check first whether it was done all the same";
  if (status === "default") return "Read the answer of the API";
  return "Correct params, as the answer of the API says";
}
