import { GatewayError, isJsonObject, type JsonObject } from "../../core/mod.ts";
import { type FoundOperation, type OpenApiDocument, toEntries, toText } from "./document.ts";

/** Server of an operation, with the default values of its variables. */
interface OperationServer {
  readonly server: string;
  readonly serverVariables: Readonly<Record<string, string>>;
}

/** Finds the first server of an operation, as an absolute URL if the URL of the document is known. */
export function findServer(document: OpenApiDocument, { operation, item }: FoundOperation): OperationServer {
  if (document.version === "2.0") return { server: toLegacyServer(document), serverVariables: {} };
  const lists = [operation["servers"], item["servers"], document.root["servers"]];
  const servers = lists.find((list) => Array.isArray(list) && list.length > 0) as unknown[] | undefined;
  const all = (servers ?? []).filter(isJsonObject).filter((one) => toText(one["url"]) !== undefined);
  // A relative URL needs the URL of the document.
  const usable = all.find((one) => document.url !== undefined || !/^\/(?!\/)/.test(String(one["url"])));
  const chosen = usable ?? all[0] ?? { url: "/" };
  return {
    server: toAbsoluteUrl(String(toText(chosen["url"])), document.url),
    serverVariables: listDefaults(chosen["variables"]),
  };
}

function toLegacyServer({ root, url }: OpenApiDocument): string {
  const { schemes, host, basePath } = root;
  const path = toText(basePath) ?? "/";
  if (toText(host) === undefined) return toAbsoluteUrl(path, url);
  const known = Array.isArray(schemes)
    ? schemes.filter((scheme) => scheme === "https" || scheme === "http")
    : [];
  const scheme = known.includes("http") && !known.includes("https") ? "http" : "https";
  return `${scheme}://${String(host)}${path.startsWith("/") ? path : `/${path}`}`;
}

function toAbsoluteUrl(url: string, base: string | undefined): string {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(url)) return url;
  // Some documents have only the host.
  if (/^[a-z0-9-]+(\.[a-z0-9-]+)+([:/]|$)/i.test(url)) return `https://${url}`;
  if (url.startsWith("//")) return `${base?.startsWith("http:") ? "http:" : "https:"}${url}`;
  if (base !== undefined && !url.includes("{") && URL.canParse(url, base)) return new URL(url, base).href;
  return url;
}

function listDefaults(variables: unknown): Record<string, string> {
  return Object.fromEntries(
    toEntries(variables).flatMap(([name, given]) => {
      const value = isJsonObject(given) ? given["default"] : undefined;
      return typeof value === "string" || typeof value === "number" ? [[name, String(value)]] : [];
    }),
  );
}

/** Fills in the variables of a server URL. Throws if one has no value. */
export function fillServer(
  { server, serverVariables }: OperationServer,
  given: Readonly<Record<string, string>>,
  adapter: string,
): string {
  return server.replace(/\{([^{}]+)\}/g, (_, name: string) => {
    const value = Object.hasOwn(given, name) ? given[name] : serverVariables[name];
    if (value !== undefined) return value;
    throw new GatewayError(
      "CONFIG_INVALID",
      `The server URL of "${adapter}" needs a value for "${name}". Set adapters.${adapter}.serverVariables.`,
      { data: { adapter, variable: name, sent: false } },
    );
  });
}

/** Joins the URL of a server, without its query and fragment, and a path. */
export function joinPath(server: string, path: string): string {
  return `${server.replace(/[?#].*$/s, "").replace(/\/$/, "")}${path}`;
}

/** Creates the `accept` header from the declared responses of an operation. */
export function toAccept({ root, version }: OpenApiDocument, operation: JsonObject): string {
  const types = new Set<string>();
  if (version === "2.0") {
    for (const type of [operation["produces"] ?? root["produces"]].flat()) types.add(toText(type) ?? "");
  } else {
    for (const [status, response] of toEntries(operation["responses"])) {
      if (!/^(2|default)/.test(status) || !isJsonObject(response)) continue;
      for (const [type] of toEntries(response["content"])) types.add(type);
    }
  }
  const known = [...types].filter((type) => /^[\w*.+-]+\/[\w*.+-]+(;[\w .=-]+)?$/.test(type)).slice(0, 5);
  const json = known.find((type) => /[/+]json\b/.test(type));
  if (known.length === 0 || json === "application/json") return "application/json, */*;q=0.5";
  return `${json ?? known.join(", ")}, */*;q=0.1`;
}
