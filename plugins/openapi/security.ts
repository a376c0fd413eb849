import { isJsonObject, type JsonObject } from "../../core/mod.ts";
import type { AuthType } from "../../core/services/adapters.ts";
import { type FoundOperation, follow, type OpenApiDocument, toEntries, toText } from "./document.ts";

/** A security scheme of the document. */
export interface Scheme {
  /** Name of the scheme in the document. */
  readonly name: string;
  readonly type: Exclude<AuthType, "none">;
  /** Location of an API key. */
  readonly in: "header" | "query" | "cookie";
  /** Name of the header, parameter or cookie. */
  readonly key: string;
  /** The word before it in an `Authorization` header. */
  readonly word: string;
  /** URL that issues tokens. */
  readonly tokenUrl?: string | undefined;
  readonly scopes: readonly string[];
}

/** Schemes that are needed together; empty if no authorization is needed. */
export type Alternative = readonly Scheme[];

/** Reads the security requirements of an operation, the easiest to set up first; undefined if there are none. */
export function readSecurity(
  { root }: OpenApiDocument,
  { operation }: FoundOperation,
): readonly Alternative[] | undefined {
  const declared = operation["security"] ?? root["security"];
  if (!Array.isArray(declared)) return undefined;
  const known = listSchemes(root);
  const alternatives = declared.filter(isJsonObject).flatMap((requirement): Alternative[] => {
    const schemes = Object.entries(requirement).map(([name, scopes]) => {
      const scheme = known.get(name);
      return (
        scheme && {
          ...scheme,
          scopes: Array.isArray(scopes) ? scopes.filter((one) => typeof one === "string") : [],
        }
      );
    });
    return schemes.every((scheme) => scheme !== undefined) ? [schemes] : [];
  });
  return alternatives.toSorted((a, b) => rank(a) - rank(b));
}

const ORDER: readonly AuthType[] = ["bearer", "oauth2", "apiKey", "basic", "none"];

function rank(alternative: Alternative): number {
  return ORDER.indexOf(alternative[0]?.type ?? "none");
}

/** Returns the authentication that most requests use. */
export function commonAuth(types: readonly AuthType[]): AuthType {
  const counts = new Map<AuthType, number>();
  for (const type of types) if (type !== "none") counts.set(type, (counts.get(type) ?? 0) + 1);
  return [...counts].toSorted((a, b) => b[1] - a[1])[0]?.[0] ?? "none";
}

function listSchemes(root: JsonObject): Map<string, Scheme> {
  const components = isJsonObject(root["components"]) ? root["components"]["securitySchemes"] : undefined;
  const schemes = new Map<string, Scheme>();
  for (const [name, given] of toEntries(components ?? root["securityDefinitions"])) {
    const raw = follow(root, given);
    const scheme = isJsonObject(raw) ? toScheme(name, raw) : undefined;
    if (scheme) schemes.set(name, scheme);
  }
  return schemes;
}

function toScheme(name: string, raw: JsonObject): Scheme | undefined {
  const plain = { name, in: "header", key: "Authorization", word: "Bearer", scopes: [] } as const;
  const { type, in: place } = raw;
  const word = toText(raw["scheme"]) ?? "bearer";
  switch (type) {
    case "basic":
      return { ...plain, type: "basic", word: "Basic" };
    case "http":
      if (/^basic$/i.test(word)) return { ...plain, type: "basic", word: "Basic" };
      return { ...plain, type: "bearer", word: /^bearer$/i.test(word) ? "Bearer" : word };
    case "apiKey":
      if (place !== "header" && place !== "query" && place !== "cookie") return undefined;
      return { ...plain, type: "apiKey", in: place, key: toText(raw["name"]) ?? "", word: "" };
    case "oauth2":
    case "openIdConnect":
      return { ...plain, type: "oauth2", tokenUrl: findTokenUrl(raw) };
    default:
      return undefined;
  }
}

function findTokenUrl(raw: JsonObject): string | undefined {
  const flows = isJsonObject(raw["flows"]) ? raw["flows"] : {};
  const all = [flows["clientCredentials"], ...Object.values(flows), raw].filter(isJsonObject);
  return all.map((flow) => toText(flow["tokenUrl"])).find((url) => url !== undefined);
}
