import { Buffer } from "node:buffer";
import { isJsonObject } from "../../core/mod.ts";
import { isRandom, isSecretName } from "../_masked.ts";
import type { Connection } from "../sources/server-config.ts";

/** Shorter ones are words, and would be cut out of everything. */
const SHORTEST = 6;
/** Headers that are no secret, whatever they hold. */
const harmless = new Set(["accept", "accept-language", "content-type", "user-agent", "origin", "referer"]);

/** The secrets that a server is reached with, its variables already filled in. */
export function secretsOf(connection: Connection): readonly string[] {
  if (connection.type === "stdio") {
    return usable([...fromVariables(connection.env), ...fromArguments(connection.args)]);
  }
  const { url, headers, oauth } = connection;
  return usable([
    ...fromHeaders(headers),
    ...fromUrl(url),
    ...(oauth?.clientSecret ? [oauth.clientSecret] : []),
  ]);
}

/** The secrets among headers: all but those that never are, and what follows the scheme in them. */
export function fromHeaders(headers: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(headers).flatMap(([name, value]) => {
    if (harmless.has(name.toLowerCase())) return [];
    const [, rest] = /^(?:Bearer|Basic|Token|ApiKey)\s+(\S.*)$/i.exec(value) ?? [];
    return rest === undefined ? [value] : [value, rest];
  });
}

/** The secrets in a URL: its user and password, its query, and keys in its path. */
export function fromUrl(text: string): readonly string[] {
  if (!URL.canParse(text)) return [];
  const { username, password, searchParams, pathname } = new URL(text);
  const [user, secret] = [decoded(username), decoded(password)];
  return usable([
    user,
    secret,
    // As it stands in a header.
    ...(secret === "" ? [] : [Buffer.from(`${user}:${secret}`).toString("base64")]),
    ...searchParams.values(),
    ...pathname.split("/").filter(isRandom),
  ]);
}

/** The values among arguments that are secrets by their names. A caller knows them; whoever reads a log need not. */
export function secretArguments(args: unknown, depth = 0): readonly string[] {
  if (depth > 8 || typeof args !== "object" || args === null) return [];
  if (Array.isArray(args)) return args.slice(0, 100).flatMap((one) => secretArguments(one, depth + 1));
  if (!isJsonObject(args)) return [];
  const found = Object.entries(args).flatMap(([name, value]) =>
    typeof value === "string" ? (isSecretName(name) ? [value] : []) : secretArguments(value, depth + 1),
  );
  return usable(found);
}

function fromVariables(env: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(env).flatMap(([name, value]) =>
    isSecretName(name) || isOpaque(value) ? [value] : fromUrl(value),
  );
}

function fromArguments(args: readonly string[]): readonly string[] {
  return args.flatMap((arg, index) => {
    const [, name, value] = /^-*([\w.-]+)=(.+)$/s.exec(arg) ?? [];
    if (name !== undefined && value !== undefined && isSecretName(name)) return [value];
    const option = args[index - 1] ?? "";
    if (/^--?[\w.-]+$/.test(option) && isSecretName(option) && !arg.startsWith("-")) return [arg];
    return isOpaque(arg) ? [arg] : fromUrl(arg);
  });
}

/** Letters and digits without a word, a path or an address in them. */
function isOpaque(value: string): boolean {
  return value.length >= 16 && /^[\w+/=.-]+$/.test(value) && !/^[./~]|\/\w+\//.test(value) && isRandom(value);
}

function usable(values: readonly string[]): readonly string[] {
  return [...new Set(values.filter((value) => value.trim().length >= SHORTEST))];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
