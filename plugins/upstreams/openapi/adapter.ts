import { isJsonObject, type JsonObject } from "../../../core/mod.ts";
import { type OpenApiDocument, plainText, textOf } from "./document.ts";
import type { Adapter, AuthType } from "./operation.ts";
import type { AdapterOptions, Credential, Overlay } from "./options.ts";

/** What an adapter is made known by. */
export interface AdapterFacts {
  readonly id: string;
  readonly document?: OpenApiDocument | undefined;
  /** What is known of it, the first goes before the others. */
  readonly overlays: readonly (Overlay | undefined)[];
  readonly authType: AuthType;
  readonly envVar: string | undefined;
  /** The names of its tools. */
  readonly tools: readonly string[];
  readonly problem?: string | undefined;
}

/** What is known of an adapter: from the config, from what comes with us, and from its document, in that order. */
export function adapterOf(facts: AdapterFacts): Adapter {
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
    textOf(told(key, (value) => textOf(value) !== undefined));
  const list = (key: keyof Overlay): string[] => {
    const value = told(key, Array.isArray);
    return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
  };
  const errors = told("errors", Array.isArray) ?? [];
  return {
    id,
    name: text("name") ?? plainText(info["title"], 100) ?? id,
    description: text("description") ?? plainText(info["description"] ?? info["summary"], 300) ?? "",
    category: text("category") ?? firstOf(info["x-apisguru-categories"]) ?? "general",
    capabilities: list("capabilities"),
    countries: list("countries"),
    currencies: list("currencies"),
    authType: facts.authType,
    envVar: facts.envVar,
    documentation: text("documentation") ?? linkOf(root["externalDocs"]) ?? linkOf(info["contact"]),
    // What the document no longer has is of no use to anybody.
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
export function envVarOf(
  credentials: readonly Credential[],
  overlays: readonly (Overlay | undefined)[],
): string | undefined {
  const own = credentials.map(
    ({ env, passwordEnv, clientSecretEnv }) => env ?? passwordEnv ?? clientSecretEnv,
  );
  return [...own, ...overlays.map((overlay) => overlay?.envVar)].find((name) => name !== undefined);
}

/** The credentials that the config names or, where it names none, the one that is known for the adapter. */
export function credentialsOf(
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

function firstOf(list: unknown): string | undefined {
  return Array.isArray(list) ? textOf(list[0]) : undefined;
}

function linkOf(value: unknown): string | undefined {
  const url = isJsonObject(value) ? textOf(value["url"]) : undefined;
  return url !== undefined && /^https?:\/\//i.test(url) ? url : undefined;
}
