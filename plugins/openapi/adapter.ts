import { isJsonObject, type JsonObject } from "../../core/mod.ts";
import type { Adapter, AuthType, Overlay } from "../../core/services/adapters.ts";
import { type OpenApiDocument, plainText, toText } from "./document.ts";
import type { AdapterOptions, Credential } from "./options.ts";

/** Sources of the facts about an adapter. */
export interface AdapterFacts {
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
  const told = <Key extends keyof Overlay>(
    key: Key,
    isFit: (value: unknown) => boolean,
  ): Overlay[Key] | undefined =>
    [...facts.overlays, extension as Overlay].map((one) => one?.[key]).find(isFit);
  const text = (key: keyof Overlay): string | undefined =>
    toText(told(key, (value) => toText(value) !== undefined));
  const list = (key: keyof Overlay): string[] => {
    const value = told(key, Array.isArray);
    return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
  };
  const errors = told("errors", Array.isArray) ?? [];
  return {
    id,
    name: text("name") ?? plainText(info["title"], 100) ?? id,
    description: text("description") ?? plainText(info["description"] ?? info["summary"], 300) ?? "",
    category: text("category") ?? firstString(info["x-apisguru-categories"]) ?? "general",
    capabilities: list("capabilities"),
    countries: list("countries"),
    currencies: list("currencies"),
    authType: facts.authType,
    envVar: facts.envVar,
    documentation: text("documentation") ?? toLink(root["externalDocs"]) ?? toLink(info["contact"]),
    // Operations that the document no longer has are left out.
    commonOperations: list("commonOperations")
      .map((name) => (name.startsWith(`${id}:`) ? name.slice(id.length + 1) : name))
      .filter((name) => tools.includes(name))
      .map((name) => `${id}:${name}`),
    errors: errors.filter(isKnownError),
    bestPractices: list("bestPractices"),
    webhooks: text("webhooks"),
    ...(problem !== undefined && { problem }),
  };
}

/** The variable that holds the credential of an adapter, where there is one. */
export function findEnvVar(
  credentials: readonly Credential[],
  overlays: readonly (Overlay | undefined)[],
): string | undefined {
  const own = credentials.map(
    ({ env, passwordEnv, clientSecretEnv }) => env ?? passwordEnv ?? clientSecretEnv,
  );
  return [...own, ...overlays.map((overlay) => overlay?.envVar)].find((name) => name !== undefined);
}

/** The credentials that the config names or, where it names none, the one that is known for the adapter. */
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
