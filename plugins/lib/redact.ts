import { Buffer } from "node:buffer";
import { GatewayError, isJsonObject, type ToolResult } from "../../core/mod.ts";
import type { Connection } from "../../core/services/sources.ts";

/** What stands in the place of a secret. No secret is short enough to be part of it. */
export const HIDDEN = "…";

const SECRET_NAME = /key|token|secret|passw|pwd|auth|credential|cookie|session|signature/i;
/** These say where something is, which whoever approves it should know. */
const PLACE_NAME = /(file|path|dir|folder|url|uri|host|name|type)$/i;
/** A variable holds its secret elsewhere; a command in a value must not hide behind the name before it. */
const NO_SECRET =
  /^(?:[Bb]earer|[Bb]asic|[Tt]oken)?\s*(?:\$\{|\$(?:[A-Z_][A-Z0-9_]*)?$|\{env:|%[A-Z_][A-Z0-9_]*%$|$)|\$\(|`/;

// Each is tried only where a word begins, so that no text takes longer than its length.
const ASSIGNED = /(?<![\w.-])([\w.-]+)(["']?\s*=\s*)("[^"]*"|'[^']*'|[^\s"'&|;,}`()<>]+)/g;
const HEADER = /(?<![\w.-])([\w.-]+)(["']?\s*:\s*)("[^"]*"|'[^']*'|[^\s"'&|;,}`()<>/][^"'&|;,}\n$`()<>]*)/g;
const TOKEN =
  /(?<![\w-])(?:(?:sk|pk|rk)[-_](?=[\w-]*\d)[\w-]{8,}|gh[opsur]_\w{8,}|github_pat_\w{8,}|glpat-[\w-]{8,}|xox[abeprs]-[\w-]{8,}|AKIA\w{12,}|AIza[\w-]{20,}|hf_\w{8,}|npm_\w{20,}|eyJ[\w-]{8,}\.[\w.-]+)/g;
const BEARER = /(?<!\w)(bearer|basic)\s+(?=\S*\d)[\w.~+/=-]{6,}/gi;
const LINK = /(?<![\w+.-])([a-z][a-z0-9+.-]*:\/\/)([^\s"'`<>|;]+)/gi;

/** A command line as a person may see it: what looks like a secret is left out, and the rest is not. */
export function shownCommand(command: string, args: readonly string[]): string {
  const shown = args.map((arg, index) => (isValueOfSecret(args[index - 1], arg) ? HIDDEN : masked(arg)));
  return [masked(command), ...shown].map(quoted).join(" ");
}

/** A URL as a person may see it: without its user and password, its query, and keys in its path. */
export function shownUrl(url: string): string {
  return url.replace(LINK, (_, scheme: string, rest: string) => `${scheme}${shownRest(rest)}`);
}

function isValueOfSecret(option = "", value: string): boolean {
  return /^--?[\w.-]+$/.test(option) && isSecretName(option) && !value.startsWith("-") && !isHarmless(value);
}

/** Whether what has this name is likely to be a secret. */
export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name) && !PLACE_NAME.test(name);
}

/** A text as anybody may see it: what looks like a secret is left out. */
export function masked(text: string): string {
  return withoutTokens(shownUrl(text).replace(ASSIGNED, hide).replace(HEADER, hide));
}

/** A text without what can be nothing but a token, whatever stands around it. */
export function withoutTokens(text: string): string {
  return text.replace(BEARER, `$1 ${HIDDEN}`).replace(TOKEN, HIDDEN);
}

function hide(whole: string, name: string, between: string, value: string): string {
  if (isSecretName(name)) return isHarmless(value) ? whole : `${name}${between}${HIDDEN}`;
  // As in `--env=TOKEN=value`.
  const inner = /^(["']?[\w.-]+)=(.+)$/s.exec(value);
  return inner?.[1] && inner[2] && isSecretName(inner[1]) && !isHarmless(inner[2])
    ? `${name}${between}${inner[1]}=${HIDDEN}`
    : whole;
}

function isHarmless(value: string): boolean {
  return NO_SECRET.test(value.replace(/^["']/, ""));
}

function shownRest(rest: string): string {
  const [, authority = "", path = "", more = ""] = /^([^/?#]*)([^?#]*)(.*)$/s.exec(rest) ?? [];
  const host = authority.slice(authority.lastIndexOf("@") + 1);
  const segments = path.split("/").map((segment) => (isRandom(segment) ? HIDDEN : segment));
  return `${host}${segments.join("/")}${more === "" ? "" : `?${HIDDEN}`}`;
}

/** Whether nobody would have thought of it: letters and digits in turn, and many of them. */
export function isRandom(segment: string): boolean {
  if (segment.length < 16 || !/^[\w-]+$/.test(segment) || !/\d.*\d/.test(segment)) return false;
  const turns = segment.match(/[a-z](?=[A-Z0-9])|[A-Z](?=[a-z0-9])|\d(?=[A-Za-z])/g)?.length ?? 0;
  return turns >= segment.length / 4;
}

/** One argument stays one for whoever reads it. */
function quoted(arg: string): string {
  return /^[\w@%+=:,./?…${}~\\-]+$/.test(arg) ? arg : `'${arg.replaceAll("'", "'\\''")}'`;
}

/** Takes secrets out of a text. */
export type Redact = (text: string) => string;

/** What a value is nested deeper than is not shown at all. */
const MAX_DEPTH = 32;

/**
 * Makes what takes these secrets out of texts, in every form in which programs write them, and whatever can be nothing
 * but a token.
 */
export function redactor(secrets: Iterable<string>): Redact {
  const forms = new Set<string>();
  for (const secret of secrets) for (const form of formsOf(secret)) forms.add(form);
  // The longest first: one may be part of another.
  const ordered = [...forms].toSorted((a, b) => b.length - a.length);
  return (text) => {
    let left = text;
    for (const form of ordered) if (left.includes(form)) left = left.replaceAll(form, HIDDEN);
    return withoutTokens(left);
  };
}

/** The same value with every text in it redacted, the names of its fields too. */
export function redactValue(value: unknown, redact: Redact, depth = 0): unknown {
  if (typeof value === "string") return redact(value);
  if (typeof value !== "object" || value === null) return value;
  if (depth >= MAX_DEPTH) return HIDDEN;
  if (Array.isArray(value)) return value.map((one) => redactValue(one, redact, depth + 1));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [redact(name), redactValue(one, redact, depth + 1)]),
  );
}

/** The same error without secrets; the very same where it has none. */
export function redactError(error: GatewayError, redact: Redact): GatewayError {
  const message = redact(error.message);
  const data = redactValue(error.data, redact) as Readonly<Record<string, unknown>>;
  const cause = redactCause(error.cause, redact);
  const isSame =
    message === error.message && cause === error.cause && JSON.stringify(data) === JSON.stringify(error.data);
  if (isSame) return error;
  return new GatewayError(error.kind, message, { data, ...(error.cause !== undefined && { cause }) });
}

/** What a tool says of its own failure, without secrets. Other results are data, and nobody's to change. */
export function redactResult(result: ToolResult, redact: Redact): ToolResult {
  if (result.isError !== true) return result;
  return redactValue(result, redact) as ToolResult;
}

function redactCause(cause: unknown, redact: Redact, depth = 0): unknown {
  if (!(cause instanceof Error) || depth > 4) return depth > 4 ? undefined : cause;
  const inner = redactCause(cause.cause, redact, depth + 1);
  const message = redact(cause.message);
  if (message === cause.message && inner === cause.cause) return cause;
  const clean = new Error(message, inner === undefined ? {} : { cause: inner });
  clean.name = cause.name;
  if ("code" in cause) Object.assign(clean, { code: cause.code });
  // Its first lines are the message once more.
  clean.stack = redact(cause.stack ?? "");
  return clean;
}

function formsOf(secret: string): string[] {
  const inJson = JSON.stringify(secret).slice(1, -1);
  const inUrl = encodeURIComponent(secret);
  const forms = [secret, inJson, inUrl, inUrl.replaceAll("%20", "+"), Buffer.from(secret).toString("base64")];
  return forms.filter((form) => form !== "");
}

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
