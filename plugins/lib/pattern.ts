/** Pattern that is matched in linear time. */
export interface LinearPattern {
  test(text: string): boolean;
  /** Estimates the steps for a string of this length. */
  cost(length: number): number;
}

/** Total size of the patterns of one schema: about a tenth of a second to compile. */
const MAX_SIZE = 10_000;
/** Above this size the engine does not cache its states. */
const SMALL = 64;

// Spaces of JavaScript; other dialects have fewer.
const SPACES = String.raw`\t-\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}`;
const LINE_ENDS = String.raw`\n\r\x{2028}\x{2029}`;

/** Makes a compiler for one schema. The engine is imported only here: it takes longer to load than the rest of the plugin. */
export async function createPatternCompiler(): Promise<{
  compile(source: string): LinearPattern | undefined;
}> {
  const { RE2JS } = await import("re2js");
  let size = 0;
  return {
    compile(source) {
      const expected = expectedSize(source);
      if (size + expected > MAX_SIZE) return undefined;
      size += expected;
      try {
        const compiled = RE2JS.compile(RE2JS.translateRegExp(translate(source)));
        const steps = compiled.programSize() * (compiled.programSize() > SMALL ? 3 : 1);
        return { test: (text) => compiled.test(text), cost: (length) => length * steps };
      } catch {
        // The pattern looks ahead or back, refers to a group, or is no regular expression.
        return undefined;
      }
    },
  };
}

/** Repetitions are written out: `(abc){50}` is as long as 50 times `abc`. */
function expectedSize(source: string): number {
  let size = source.length;
  for (const [, end = "", least = "", most = ""] of source.matchAll(/(.)\{(\d+)(?:,(\d*))?\}/gsu)) {
    size += Math.max(Number(least), Number(most)) * (end === ")" ? source.length : 2);
  }
  return size;
}

/** Translates `\s`, `\S`, `.` and the long names of scripts from the JavaScript dialect. */
function translate(source: string): string {
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
