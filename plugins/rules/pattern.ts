import { compileGlob, type Matcher } from "../lib/glob.ts";

/** Compiled pattern of a rule. */
export interface Pattern {
  /** Pattern as written. */
  readonly source: string;
  /** Whether the pattern begins with `!`: what it matches is excluded. */
  readonly negated: boolean;
  /** Whether it is matched against `server:tool`, not against the name of the tool. */
  readonly withServer: boolean;
  readonly matches: Matcher;
}

/** Longer patterns are a mistake, or an attack. */
const MAX_LENGTH = 1_000;

/**
 * Compiles a pattern: `/regex/flags` or a glob, either with `!` before it. A glob ignores case, and with a colon in it
 * is matched against `server:tool`; a regular expression is taken as written, and matched against the name. Throws a
 * `SyntaxError` whose message is the reason why it cannot be used.
 */
export async function compilePattern(source: string): Promise<Pattern> {
  const negated = source.startsWith("!");
  const body = negated ? source.slice(1) : source;
  if (body === "") throw new SyntaxError("it is empty");
  if (body.length > MAX_LENGTH) throw new SyntaxError(`it is longer than ${MAX_LENGTH} characters`);
  // A single slash is no pair of them.
  const end = body.lastIndexOf("/");
  const isRegex = body.startsWith("/") && end > 0;
  const matches = isRegex
    ? await compileRegex(body.slice(1, end), body.slice(end + 1))
    : compileGlob(body, { ignoreCase: true });
  return { source, negated, withServer: !isRegex && body.includes(":"), matches };
}

async function compileRegex(expression: string, flags: string): Promise<Matcher> {
  // An empty expression would match every name.
  if (expression === "") throw new SyntaxError("its regular expression is empty");
  const unknown = /[^imsugy]/.exec(flags)?.[0];
  if (unknown) throw new SyntaxError(`it has the flag "${unknown}", but only i, m, s, u, g and y are known`);
  // Imported on first use: it takes longer to load than the rest of the plugin. With a backtracking engine a rule could
  // stall the process.
  const { RE2JS, RE2JSException } = await import("re2js");
  // The other flags do not matter for one match: u is always on, g and y are about a next match.
  const mode =
    (flags.includes("i") ? RE2JS.CASE_INSENSITIVE : 0) |
    (flags.includes("m") ? RE2JS.MULTILINE : 0) |
    (flags.includes("s") ? RE2JS.DOTALL : 0);
  try {
    const compiled = RE2JS.compile(RE2JS.translateRegExp(expression), mode);
    return (text) => compiled.test(text);
  } catch (thrown) {
    if (!(thrown instanceof RE2JSException)) throw thrown;
    const reason = thrown.message.replace("error parsing regexp: ", "");
    throw new SyntaxError(`it cannot be read (${reason})`, { cause: thrown });
  }
}
