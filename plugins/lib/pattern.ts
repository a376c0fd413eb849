import { globMatcher, type Matcher } from "./glob.ts";

/** Says whether a text holds a match. */
export interface LinearPattern {
  test(text: string): boolean;
  /** The steps that a text of this length takes at most, about. */
  cost(length: number): number;
}

/** Compiles the patterns of schemas. */
export interface PatternCompiler {
  /** Nothing where a pattern cannot be matched in linear time, or would take long to compile. */
  compile(source: string): LinearPattern | undefined;
}

/** What the patterns of one schema come to together, about: a tenth of a second to compile. */
const MAX_SIZE = 10_000;
/** Past this size a machine has so many states that they are not remembered. */
const SMALL = 64;

// What a space is in JavaScript, and in no other dialect.
const SPACES = String.raw`\t-\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}`;
const LINE_ENDS = String.raw`\n\r\x{2028}\x{2029}`;

/** Makes a compiler for one schema. The engine is imported only here: it takes longer to load than the rest of the plugin. */
export async function patternCompiler(): Promise<PatternCompiler> {
  const { RE2JS } = await import("re2js");
  let size = 0;
  return {
    compile(source) {
      const expected = expectedSize(source);
      if (size + expected > MAX_SIZE) return undefined;
      size += expected;
      try {
        const compiled = RE2JS.compile(RE2JS.translateRegExp(translated(source)));
        const steps = compiled.programSize() * (compiled.programSize() > SMALL ? 3 : 1);
        return { test: (text) => compiled.test(text), cost: (length) => length * steps };
      } catch {
        // It looks ahead or back, refers to a group, or is no regular expression at all.
        return undefined;
      }
    },
  };
}

/** A repetition is written out: `(abc){50}` is as long as 50 times `abc`. */
function expectedSize(source: string): number {
  let size = source.length;
  for (const [, end = "", least = "", most = ""] of source.matchAll(/(.)\{(\d+)(?:,(\d*))?\}/gsu)) {
    size += Math.max(Number(least), Number(most)) * (end === ")" ? source.length : 2);
  }
  return size;
}

/** Says in the other dialect what JavaScript means by `\s`, `\S`, `.` and the long names of scripts. */
function translated(source: string): string {
  let text = "";
  let inClass = false;
  for (let index = 0; index < source.length; index++) {
    const character = source[index] as string;
    if (character === "\\") {
      const found = /^\\(?:p\{(?:Script|sc|Script_Extensions|scx|General_Category|gc)=(\w+)\}|.)/isu.exec(
        source.slice(index, index + 60),
      );
      const [whole = character, name] = found ?? [];
      index += whole.length - 1;
      if (name !== undefined) text += `\\${whole[1]}{${name}}`;
      else if (whole === "\\s") text += inClass ? SPACES : `[${SPACES}]`;
      else if (whole === "\\S" && !inClass) text += `[^${SPACES}]`;
      else text += whole;
      continue;
    }
    if (character === "[" && !inClass) inClass = true;
    else if (character === "]") inClass = false;
    text += character === "." && !inClass ? `[^${LINE_ENDS}]` : character;
  }
  return text;
}

/** One pattern of a rule, ready to match. */
export interface Pattern {
  /** As it was written. */
  readonly source: string;
  /** It began with `!`: what it matches is left out. */
  readonly negated: boolean;
  readonly matches: Matcher;
}

/** Longer ones are a mistake, or meant to take up time. */
const MAX_LENGTH = 1_000;

/**
 * Compiles a pattern: `/regex/flags`, or else a glob, either of them with `!` before it. Throws a `SyntaxError`
 * whose message is the reason why it cannot be used.
 */
export async function compilePattern(source: string): Promise<Pattern> {
  const negated = source.startsWith("!");
  const body = negated ? source.slice(1) : source;
  if (body === "") throw new SyntaxError("it is empty");
  if (body.length > MAX_LENGTH) throw new SyntaxError(`it is longer than ${MAX_LENGTH} characters`);
  // A single slash is no pair of them.
  const end = body.lastIndexOf("/");
  const isRegex = body.startsWith("/") && end > 0;
  const matches = isRegex ? await regexMatcher(body.slice(1, end), body.slice(end + 1)) : globMatcher(body);
  return { source, negated, matches };
}

async function regexMatcher(expression: string, flags: string): Promise<Matcher> {
  // By accident it would match everything.
  if (expression === "") throw new SyntaxError("its regular expression is empty");
  const unknown = /[^imsugy]/.exec(flags)?.[0];
  if (unknown) throw new SyntaxError(`it has the flag "${unknown}", but only i, m, s, u, g and y are known`);
  // Imported only here, because it takes longer to load than everything else of this plugin together. A
  // backtracking engine will not do: a rule could stall the process.
  const { RE2JS, RE2JSException } = await import("re2js");
  // The rest changes nothing where a name is looked at once, from its start: u is always on, g and y are about a next match.
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
