import { Buffer } from "node:buffer";
import { GatewayError, isJsonObject, type ToolResult } from "../../core/mod.ts";
import type { Connection } from "../../core/services/sources.ts";
import { decodeComponent } from "./json.ts";
import { quoteForShell } from "./terminal/output.ts";

/** Replacement of a secret. No secret is short enough to be part of it. */
const HIDDEN = "…";

const SECRET_NAME =
  /key|token|secret|passw|passphrase|passcode|pwd|auth|credential|cookie|session|signature|(?:^|[_.-])(?:pass|pat|pw|creds?|pin|otp|jwt|dsn)(?=$|[_.\d-])/i;
/** The short words of {@link SECRET_NAME} at the end of a name in camel case. */
const SECRET_ENDING = /[a-z](?:Pass|Pat|Pw|Creds?|Pin|Otp|Jwt|Dsn)$/;
/** Names of places, which a user who approves a server needs to see. */
const PLACE_NAME = /(file|path|dir|folder|url|uri|host|name|type)$/i;
/** Values without a secret: a variable holds it elsewhere, and a command must not hide behind the name before it. */
const NO_SECRET =
  /^(?:[Bb]earer|[Bb]asic|[Tt]oken)?\s*(?:\$\{|\$(?:[A-Z_][A-Z0-9_]*)?$|\{env:|%[A-Z_][A-Z0-9_]*%$|$)|\$\(|`/;

// Each is tried only where a word begins, so that matching takes linear time.
const ASSIGNED = /(?<![\w.-])([\w.-]+)(["']?\s*=\s*)("[^"]*"|'[^']*'|[^\s"'&|;,}`()<>]+)/g;
const HEADER = /(?<![\w.-])([\w.-]+)(["']?\s*:\s*)("[^"]*"|'[^']*'|[^\s"'&|;,}`()<>/][^"'&|;,}\n$`()<>]*)/g;
const TOKEN =
  /(?<![\w-])(?:(?:sk|pk|rk)[-_](?=[\w-]*\d)[\w-]{8,}|gh[opsur]_\w{8,}|github_pat_\w{8,}|glpat-[\w-]{8,}|xox[abeprs]-[\w-]{8,}|AKIA\w{12,}|AIza[\w-]{20,}|hf_\w{8,}|npm_\w{20,}|eyJ[\w-]{8,}\.[\w.-]+)/g;
const BEARER = /(?<!\w)(bearer|basic)\s+(?=\S*\d)[\w.~+/=-]{6,}/gi;
const LINK = /(?<![\w+.-])([a-z][a-z0-9+.-]*:\/\/)([^\s"'`<>|;]+)/gi;

/** Formats a command line without what looks like a secret. */
export function redactCommand(command: string, args: readonly string[]): string {
  const shown = args.map((arg, index) =>
    isValueOfSecret(args[index - 1], arg) ? HIDDEN : redactSecrets(arg),
  );
  return [redactSecrets(command), ...shown].map(quote).join(" ");
}

/** Removes the user and password, the query, and keys in the path from the URLs in a string. */
export function redactUrl(url: string): string {
  return url.replace(LINK, (_, scheme: string, rest: string) => `${scheme}${redactRest(rest)}`);
}

function isValueOfSecret(option = "", value: string): boolean {
  return /^--?[\w.-]+$/.test(option) && isSecretName(option) && !value.startsWith("-") && !isHarmless(value);
}

/** Whether a variable or option of this name is likely to hold a secret. */
function isSecretName(name: string): boolean {
  return (SECRET_NAME.test(name) || SECRET_ENDING.test(name)) && !PLACE_NAME.test(name);
}

/** Removes what looks like a secret from a string. */
export function redactSecrets(text: string): string {
  return redactTokens(redactUrl(text).replace(ASSIGNED, redactAssignment).replace(HEADER, redactAssignment));
}

/** Removes tokens that are recognized by their form alone. */
function redactTokens(text: string): string {
  return text.replace(BEARER, `$1 ${HIDDEN}`).replace(TOKEN, HIDDEN);
}

function redactAssignment(whole: string, name: string, between: string, value: string): string {
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

function redactRest(rest: string): string {
  const [, authority = "", path = "", more = ""] = /^([^/?#]*)([^?#]*)(.*)$/s.exec(rest) ?? [];
  const host = authority.slice(authority.lastIndexOf("@") + 1);
  const segments = path.split("/").map((segment) => (isRandom(segment) ? HIDDEN : segment));
  return `${host}${segments.join("/")}${more === "" ? "" : `?${HIDDEN}`}`;
}

/** Whether a segment looks random: many letters and digits in turn. */
function isRandom(segment: string): boolean {
  if (segment.length < 16 || !/^[\w-]+$/.test(segment) || !/\d.*\d/.test(segment)) return false;
  const turns = segment.match(/[a-z](?=[A-Z0-9])|[A-Z](?=[a-z0-9])|\d(?=[A-Za-z])/g)?.length ?? 0;
  return turns >= segment.length / 4;
}

function quote(arg: string): string {
  // Variables of the definition stay readable.
  return /^[\w@%+=:,./?…${}~\\-]+$/.test(arg) ? arg : quoteForShell(arg);
}

/** Removes secrets from a string. */
export type Redact = (text: string) => string;

const MAX_DEPTH = 32;

/** Creates a function that removes these secrets, in every form in which programs write them, and tokens. */
export function createRedactor(secrets: Iterable<string>): Redact {
  const forms = new Set<string>();
  for (const secret of secrets) for (const form of listForms(secret)) forms.add(form);
  // The longest first: one may be part of another.
  const ordered = [...forms].toSorted((a, b) => b.length - a.length);
  return (text) => {
    let left = text;
    for (const form of ordered) if (left.includes(form)) left = left.replaceAll(form, HIDDEN);
    return redactTokens(left);
  };
}

/** Redacts every string in a value, the names of its fields too. */
function redactValue(value: unknown, redact: Redact, depth = 0): unknown {
  if (typeof value === "string") return redact(value);
  if (typeof value !== "object" || value === null) return value;
  if (depth >= MAX_DEPTH) return HIDDEN;
  if (Array.isArray(value)) return value.map((one) => redactValue(one, redact, depth + 1));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [redact(name), redactValue(one, redact, depth + 1)]),
  );
}

/** Redacts an error; returns the same object if it holds no secret. */
export function redactError(error: GatewayError, redact: Redact): GatewayError {
  const message = redact(error.message);
  const data = redactValue(error.data, redact) as Readonly<Record<string, unknown>>;
  const cause = redactCause(error.cause, redact);
  const isSame =
    message === error.message && cause === error.cause && JSON.stringify(data) === JSON.stringify(error.data);
  if (isSame) return error;
  return new GatewayError(error.kind, message, { data, ...(error.cause !== undefined && { cause }) });
}

/** Redacts the error of a tool. Other results are data and stay as they are. */
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

function listForms(secret: string): string[] {
  const inJson = JSON.stringify(secret).slice(1, -1);
  const inUrl = encodeURIComponent(secret);
  const forms = [secret, inJson, inUrl, inUrl.replaceAll("%20", "+"), Buffer.from(secret).toString("base64")];
  return forms.filter((form) => form !== "");
}

/** Shorter values are words, which would be cut out of every string. */
const SHORTEST = 6;
/** Headers that never hold a secret. */
const harmless = new Set(["accept", "accept-language", "content-type", "user-agent", "origin", "referer"]);

/** Finds the secrets of a connection whose variables are filled in. */
export function findConnectionSecrets(connection: Connection): readonly string[] {
  if (connection.type === "stdio") {
    return keepUsable([...findVariableSecrets(connection.env), ...findCommandSecrets(connection.args)]);
  }
  const { url, headers, oauth } = connection;
  return keepUsable([
    ...findHeaderSecrets(headers),
    ...findUrlSecrets(url),
    ...(oauth?.clientSecret ? [oauth.clientSecret] : []),
  ]);
}

/** Finds secrets in headers: all values but those of harmless headers, also without their scheme. */
export function findHeaderSecrets(headers: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(headers).flatMap(([name, value]) => {
    if (harmless.has(name.toLowerCase())) return [];
    const [, rest] = /^(?:Bearer|Basic|Token|ApiKey)\s+(\S.*)$/i.exec(value) ?? [];
    return rest === undefined ? [value] : [value, rest];
  });
}

/** Finds secrets in a URL: its user and password, its query, and keys in its path. */
function findUrlSecrets(text: string): readonly string[] {
  if (!URL.canParse(text)) return [];
  const { username, password, searchParams, pathname } = new URL(text);
  const [user, secret] = [decodeComponent(username), decodeComponent(password)];
  return keepUsable([
    user,
    secret,
    // As it stands in a header.
    ...(secret === "" ? [] : [Buffer.from(`${user}:${secret}`).toString("base64")]),
    ...searchParams.values(),
    ...pathname.split("/").filter(isRandom),
  ]);
}

/** Finds arguments that are secrets by their names. The caller knows them; a reader of logs need not. */
export function findSecretArguments(args: unknown, depth = 0): readonly string[] {
  if (depth > 8 || typeof args !== "object" || args === null) return [];
  if (Array.isArray(args)) return args.slice(0, 100).flatMap((one) => findSecretArguments(one, depth + 1));
  if (!isJsonObject(args)) return [];
  const found = Object.entries(args).flatMap(([name, value]) =>
    typeof value === "string" ? (isSecretName(name) ? [value] : []) : findSecretArguments(value, depth + 1),
  );
  return keepUsable(found);
}

function findVariableSecrets(env: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(env).flatMap(([name, value]) =>
    isSecretName(name) || isOpaque(value) ? [value] : findUrlSecrets(value),
  );
}

function findCommandSecrets(args: readonly string[]): readonly string[] {
  return args.flatMap((arg, index) => {
    const [, name, value] = /^-*([\w.-]+)=(.+)$/s.exec(arg) ?? [];
    if (name !== undefined && value !== undefined && isSecretName(name)) return [value];
    const option = args[index - 1] ?? "";
    if (/^--?[\w.-]+$/.test(option) && isSecretName(option) && !arg.startsWith("-")) return [arg];
    return isOpaque(arg) ? [arg] : findUrlSecrets(arg);
  });
}

/** Whether a value consists of letters and digits without a word, a path or an address. */
function isOpaque(value: string): boolean {
  return value.length >= 16 && /^[\w+/=.-]+$/.test(value) && !/^[./~]|\/\w+\//.test(value) && isRandom(value);
}

function keepUsable(values: readonly string[]): readonly string[] {
  return [...new Set(values.filter((value) => value.trim().length >= SHORTEST))];
}
