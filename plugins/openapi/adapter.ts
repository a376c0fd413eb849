import { isJsonObject, type JsonObject } from "../../core/mod.ts";
import type { Adapter, AuthType, Overlay } from "../../core/services/adapters.ts";
import { type OpenApiDocument, plainText, toText } from "./document.ts";
import type { AdapterOptions, Credential } from "./options.ts";

/** Sources of the facts about an adapter. */
interface AdapterFacts {
  readonly id: string;
  readonly document?: OpenApiDocument | undefined;
  /** Overlays; earlier ones take precedence. */
  readonly overlays: readonly (Overlay | undefined)[];
  readonly authType: AuthType;
  readonly envVar: string | undefined;
  /** The names of its tools. */
  readonly tools: readonly string[];
  readonly problem?: string | undefined;
}

/** Describes an adapter: from the config, from built-in facts, and from its document, in that order. */
export function describeAdapter(facts: AdapterFacts): Adapter {
  const { id, document, tools, problem } = facts;
  const root: JsonObject = document?.root ?? {};
  const info = isJsonObject(root["info"]) ? root["info"] : {};
  const extension = [root["x-adapter"], info["x-adapter"]].find(isJsonObject) ?? {};
  const find = <Key extends keyof Overlay>(
    key: Key,
    isValid: (value: unknown) => boolean,
  ): Overlay[Key] | undefined =>
    [...facts.overlays, extension as Overlay].map((one) => one?.[key]).find(isValid);
  const string = (key: keyof Overlay): string | undefined =>
    toText(find(key, (value) => toText(value) !== undefined));
  const list = (key: keyof Overlay): string[] => {
    const value = find(key, Array.isArray);
    return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
  };
  const errors = find("errors", Array.isArray) ?? [];
  return {
    id,
    name: string("name") ?? plainText(info["title"], 100) ?? id,
    description: string("description") ?? plainText(info["description"] ?? info["summary"], 300) ?? "",
    category: string("category") ?? firstString(info["x-apisguru-categories"]) ?? "general",
    capabilities: list("capabilities"),
    countries: list("countries"),
    currencies: list("currencies"),
    authType: facts.authType,
    envVar: facts.envVar,
    documentation: string("documentation") ?? toLink(root["externalDocs"]) ?? toLink(info["contact"]),
    // Operations that the document no longer has are left out.
    commonOperations: list("commonOperations")
      .map((name) => (name.startsWith(`${id}:`) ? name.slice(id.length + 1) : name))
      .filter((name) => tools.includes(name))
      .map((name) => `${id}:${name}`),
    errors: errors.filter(isKnownError),
    bestPractices: list("bestPractices"),
    webhooks: string("webhooks"),
    ...(problem !== undefined && { problem }),
  };
}

/**
 * Finds the overlay that a document is about, by its title or the host of a server. Only facts are taken over: a document
 * that merely claims to be of an API must not get the credential of it.
 */
export function recognizeOverlay(
  { root }: OpenApiDocument,
  overlays: Readonly<Record<string, Overlay>>,
): Overlay | undefined {
  const info = isJsonObject(root["info"]) ? root["info"] : {};
  const title = toPlainTitle(toText(info["title"]) ?? "");
  const hosts = new Set(listHosts(root));
  const found = Object.values(overlays).find(
    ({ name, hosts: own = [] }) =>
      own.some((host) => hosts.has(host.toLowerCase())) ||
      (title !== "" && name !== undefined && toPlainTitle(name) === title),
  );
  if (!found) return undefined;
  const { envVar: _, idempotencyHeader: __, ...facts } = found;
  return facts;
}

/** Returns a title without the words that say only that it is one of an API: `Stripe API v3` is `stripe`. */
function toPlainTitle(title: string): string {
  const words = title.toLowerCase().split(/[^\p{L}\p{N}]+/u);
  const filler =
    /^(the|rest|web|http|open|openapi|api|apis|explorer|reference|documentation|docs|spec|specification|v\d+)?$/;
  return words.filter((word) => !filler.test(word)).join(" ");
}

function listHosts({ servers, host }: JsonObject): string[] {
  const urls = Array.isArray(servers) ? servers.filter(isJsonObject).map(({ url }) => toText(url)) : [];
  const fromUrls = urls.flatMap((url) =>
    url !== undefined && URL.canParse(url) ? [new URL(url).hostname.toLowerCase()] : [],
  );
  return [...fromUrls, ...(toText(host) === undefined ? [] : [String(host).toLowerCase()])];
}

/** Finds the environment variable that holds the credential of an adapter. */
export function findEnvVar(
  credentials: readonly Credential[],
  overlays: readonly (Overlay | undefined)[],
): string | undefined {
  const own = credentials.map(
    ({ env, passwordEnv, clientSecretEnv }) => env ?? passwordEnv ?? clientSecretEnv,
  );
  return [...own, ...overlays.map((overlay) => overlay?.envVar)].find((name) => name !== undefined);
}

/** Finds the credentials in the config or, if there are none, the known one of the adapter. */
export function findCredentials(
  { auth }: Pick<AdapterOptions, "auth">,
  overlays: readonly (Overlay | undefined)[],
): readonly Credential[] {
  if (auth !== undefined) return [auth].flat();
  const env = overlays.map((overlay) => overlay?.envVar).find((name) => name !== undefined);
  return env === undefined ? [] : [{ env }];
}

function isKnownError(value: unknown): value is Adapter["errors"][number] {
  return isJsonObject(value) && ["code", "meaning", "fix"].every((key) => typeof value[key] === "string");
}

function firstString(list: unknown): string | undefined {
  return Array.isArray(list) ? toText(list[0]) : undefined;
}

function toLink(value: unknown): string | undefined {
  const url = isJsonObject(value) ? toText(value["url"]) : undefined;
  return url !== undefined && /^https?:\/\//i.test(url) ? url : undefined;
}
