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
