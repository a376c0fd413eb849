import { holds, type PairedText, type PairedWord, pairedWord } from "./_letter-pairs.ts";

/** Texts of which a pattern needs at least one. */
type AnyOf = readonly string[];
/** All that one way to match a pattern needs. */
type Needed = readonly AnyOf[];

const SHORTEST = 2;

/** One alternative of a pattern. */
interface Way {
  readonly needed: readonly (readonly PairedWord[])[];
  readonly source: string;
  pattern?: RegExp;
}

/**
 * Makes a check whether a pattern matches a text. Each of its alternatives needs some words, and where they are
 * missing it is not tried: that is much cheaper, and most are never even compiled. What is needed is read from the
 * source; where its syntax is not understood, nothing is.
 */
export function wordPattern(source: string, flags = ""): (text: PairedText) => boolean {
  let ways: readonly Way[] | undefined;
  return (given) => {
    ways ??= waysOf(source);
    for (const way of ways) {
      if (!hasAll(given, way.needed)) continue;
      way.pattern ??= new RegExp(way.source, flags);
      if (way.pattern.test(given.text)) return true;
    }
    return false;
  };
}

function hasAll(given: PairedText, needed: Way["needed"]): boolean {
  for (const words of needed) if (!hasAny(given, words)) return false;
  return true;
}

function hasAny(given: PairedText, words: readonly PairedWord[]): boolean {
  for (const word of words) if (holds(given, word)) return true;
  return false;
}

function waysOf(source: string): Way[] {
  return createReader(source)
    .alternatives()
    .map(({ needed, from, to }) => ({
      // The fewer words there are to choose from, the sooner it is settled.
      needed: needed.toSorted((a, b) => a.length - b.length).map((words) => words.map(pairedWord)),
      source: source.slice(from, to),
    }));
}

interface Alternative {
  readonly needed: Needed;
  readonly from: number;
  readonly to: number;
}

interface Reader {
  /** The alternatives up to the end of the group or of the source. */
  alternatives(): Alternative[];
}

function createReader(source: string): Reader {
  let at = 0;
  return { alternatives };

  function alternatives(): Alternative[] {
    const all: Alternative[] = [];
    do {
      if (all.length > 0) at++;
      const from = at;
      all.push({ needed: sequence(), from, to: at });
    } while (source[at] === "|");
    return all;
  }

  function sequence(): Needed {
    const needed: AnyOf[] = [];
    let run = "";
    const end = (): void => {
      if (run.trim().length >= SHORTEST) needed.push([run]);
      run = "";
    };
    while (at < source.length && source[at] !== "|" && source[at] !== ")") {
      if (source[at] === "(") {
        end();
        needed.push(...group());
        continue;
      }
      const letter = atom();
      const times = quantifier();
      if (letter === undefined || times === "any") end();
      else run += letter;
      if (times === "more") end();
    }
    end();
    return needed;
  }

  /** One character that stands for itself, `""` for what has no width, nothing for whatever may be several. */
  function atom(): string | undefined {
    const letter = source[at++] as string;
    if (letter === "[") return void klass();
    if (letter !== "\\") return /[.^$]/.test(letter) ? undefined : letter;
    const escaped = source[at++] ?? "";
    if (escaped === "b") return "";
    if (escaped === "p" || escaped === "P") at = source.indexOf("}", at) + 1;
    else if (escaped === "u") at += source[at] === "{" ? source.indexOf("}", at) - at + 1 : 4;
    return /[a-zA-Z0-9]/.test(escaped) ? undefined : escaped;
  }

  function klass(): void {
    if (source[at] === "^") at++;
    while (at < source.length && source[at] !== "]") at += source[at] === "\\" ? 2 : 1;
    at++;
  }

  function group(): Needed {
    const kind = /^\((?:\?(?:[:=!]|<[=!]))?/.exec(source.slice(at, at + 4))?.[0] ?? "(";
    at += kind.length;
    const inner = alternatives().map(({ needed }) => needed);
    at++;
    const isOptional = quantifier() === "any";
    // What stands before or behind is not part of the match, and may be what must not be there.
    if (isOptional || (kind !== "(?:" && kind !== "(")) return [];
    if (inner.length === 1) return inner[0] ?? [];
    const best = inner.map((needed) => needed.toSorted((a, b) => shortest(b) - shortest(a))[0]);
    return best.every((words) => words !== undefined) ? [best.flat()] : [];
  }

  /** How often what came before is there: once, not always, or more than once. */
  function quantifier(): "once" | "any" | "more" {
    const given = /^(?:[*?+]|\{(\d+)(?:,\d*)?\})\??/.exec(source.slice(at, at + 12));
    if (!given) return "once";
    at += given[0].length;
    return /^[*?]/.test(given[0]) || given[1] === "0" ? "any" : "more";
  }
}

function shortest(words: AnyOf): number {
  return Math.min(...words.map((word) => word.length));
}
