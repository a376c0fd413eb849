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
  return compilePatternWith(source, await loadRegexEngine([source]));
}

/** Engine of regular expressions. With a backtracking one a rule could stall the process. */
export type RegexEngine = Pick<typeof import("re2js"), "RE2JS" | "RE2JSException">;

/** Loads the engine if a pattern needs it: it takes longer to load than the rest of the plugin. */
export async function loadRegexEngine(sources: readonly string[]): Promise<RegexEngine | undefined> {
  return sources.some((source) => /^!?\/.*\//s.test(source)) ? import("re2js") : undefined;
}

/** Compiles a pattern at once, with an engine that is loaded already. */
export function compilePatternWith(source: string, engine: RegexEngine | undefined): Pattern {
  const negated = source.startsWith("!");
  const body = negated ? source.slice(1) : source;
  if (body === "") throw new SyntaxError("it is empty");
  if (body.length > MAX_LENGTH) throw new SyntaxError(`it is longer than ${MAX_LENGTH} characters`);
  // A single slash is no pair of them.
  const end = body.lastIndexOf("/");
  const isRegex = body.startsWith("/") && end > 0;
  const matches = isRegex
    ? compileRegex(body.slice(1, end), body.slice(end + 1), engine)
    : compileGlob(body, { ignoreCase: true });
  return { source, negated, withServer: !isRegex && body.includes(":"), matches };
}

function compileRegex(expression: string, flags: string, engine: RegexEngine | undefined): Matcher {
  // An empty expression would match every name.
  if (expression === "") throw new SyntaxError("its regular expression is empty");
  const unknown = /[^imsugy]/.exec(flags)?.[0];
  if (unknown) throw new SyntaxError(`it has the flag "${unknown}", but only i, m, s, u, g and y are known`);
  if (!engine) throw new Error("The engine of regular expressions is not loaded.");
  const { RE2JS, RE2JSException } = engine;
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
