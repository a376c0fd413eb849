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
