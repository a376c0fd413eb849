/** Whether a string matches. */
export type Matcher = (text: string) => boolean;

/** Unit of a pattern: a character, or a set of code points as the ends of its ranges. */
type Unit = string | CharacterSet;

interface CharacterSet {
  readonly ranges: readonly number[];
  readonly negated: boolean;
  /** Whether the upper case of a character may be the member; strings that are compared are in lower case then. */
  readonly ignoresCase?: boolean;
}

const ANY: Unit = { ranges: [], negated: true };
const HYPHEN = 0x2d;

/** Part of a pattern between two stars. */
interface Piece {
  /** Returns the end of a match that begins at `start`, or -1. */
  match(text: string, start: number): number;
  /** Returns the end of the first match at or after `from`, or -1. */
  find(text: string, from: number): number;
  /** Returns the start of a match that ends with the string, or -1 if the string is too short. */
  lastStart(text: string): number;
}

/**
 * Compiles a glob: `*` is any number of characters, `?` is one, `[abc]` one of these, `[!a-z]` (or `[^a-z]`)
 * none of these; any other character is itself, in its own case unless `ignoreCase` is set. A star takes as few
 * characters as it can and is never tried again (what is between two stars may as well stand at the first place it
 * fits), so no pattern can stall: the time is at most that of comparing the string with each piece at each place.
 */
export function compileGlob(pattern: string, options: { readonly ignoreCase?: boolean } = {}): Matcher {
  if (!options.ignoreCase) return compileUnits(pattern, parse(pattern));
  // Sets keep their ranges, since lower case would change what is between their ends.
  const units = parse(pattern).map((piece) => piece.map(ignoreCase));
  const matches = compileUnits(pattern.toLowerCase(), units);
  return (text) => matches(text.toLowerCase());
}

function ignoreCase(unit: Unit): Unit {
  return typeof unit === "string" ? unit.toLowerCase() : { ...unit, ignoresCase: true };
}

function compileUnits(pattern: string, units: readonly (readonly Unit[])[]): Matcher {
  // By far the most common kind.
  const within = /^\*([^*?[]+)\*$/.exec(pattern)?.[1];
  if (within) return (text) => text.includes(within);
  const [first, ...rest] = units.map(toPiece);
  const last = rest.pop();
  if (!first) return (text) => text === "";
  if (!last) return (text) => first.match(text, 0) === text.length;
  return (text) => {
    let end = first.match(text, 0);
    if (end === -1) return false;
    const start = last.lastStart(text);
    if (start < end || last.match(text, start) !== text.length) return false;
    for (const piece of rest) {
      end = piece.find(text, end);
      if (end === -1 || end > start) return false;
    }
    return true;
  };
}

/** Parses the units between the stars: one list more than there are stars. */
function parse(pattern: string): Unit[][] {
  const characters = [...pattern];
  let piece: Unit[] = [];
  const pieces = [piece];
  for (let index = 0; index < characters.length; index++) {
    const character = characters[index] as string;
    if (character === "*") {
      piece = [];
      pieces.push(piece);
      continue;
    }
    // As in a shell, a bracket that comes first is a member, and one that is never closed is itself.
    const closing =
      character === "[" ? characters.indexOf("]", index + (isNegation(characters[index + 1]) ? 3 : 2)) : -1;
    if (closing !== -1) {
      piece.push(parseSet(characters.slice(index + 1, closing)));
      index = closing;
    } else {
      piece.push(character === "?" ? ANY : character);
    }
  }
  return pieces;
}

function isNegation(character: string | undefined): boolean {
  return character === "!" || character === "^";
}

function parseSet(content: readonly string[]): Unit {
  const negated = isNegation(content[0]);
  const members = (negated ? content.slice(1) : content).map((member) => member.codePointAt(0) as number);
  const ranges: number[] = [];
  for (let index = 0; index < members.length; index++) {
    const from = members[index] as number;
    const to = members[index + 1] === HYPHEN ? members[index + 2] : undefined;
    if (to !== undefined) {
      if (to < from) throw new SyntaxError(`the range "${content.join("")}" runs backwards`);
      index += 2;
    }
    ranges.push(from, to ?? from);
  }
  return { ranges, negated };
}

function fits(unit: Unit, codePoint: number): boolean {
  if (typeof unit === "string") return unit.codePointAt(0) === codePoint;
  const { ranges, negated, ignoresCase } = unit;
  const isMember =
    isWithin(ranges, codePoint) || (ignoresCase === true && isWithin(ranges, toUpperCase(codePoint)));
  return isMember !== negated;
}

function isWithin(ranges: readonly number[], codePoint: number): boolean {
  for (let index = 0; index < ranges.length; index += 2) {
    if ((ranges[index] as number) <= codePoint && codePoint <= (ranges[index + 1] as number)) return true;
  }
  return false;
}

function toUpperCase(codePoint: number): number {
  return String.fromCodePoint(codePoint).toUpperCase().codePointAt(0) ?? codePoint;
}

function toPiece(units: readonly Unit[]): Piece {
  return units.every((unit) => typeof unit === "string") ? literal(units.join("")) : sequence(units);
}

function literal(wanted: string): Piece {
  return {
    match: (text, start) => (text.startsWith(wanted, start) ? start + wanted.length : -1),
    find(text, from) {
      const start = text.indexOf(wanted, from);
      return start === -1 ? -1 : start + wanted.length;
    },
    lastStart: (text) => (text.endsWith(wanted) ? text.length - wanted.length : -1),
  };
}

function sequence(units: readonly Unit[]): Piece {
  const match = (text: string, start: number): number => {
    let place = start;
    for (const unit of units) {
      const codePoint = text.codePointAt(place);
      if (codePoint === undefined) return -1;
      if (!fits(unit, codePoint)) return -1;
      place += getWidth(codePoint);
    }
    return place;
  };
  return {
    match,
    find(text, from) {
      for (let start = from; start < text.length; start += getWidth(text.codePointAt(start) as number)) {
        const end = match(text, start);
        if (end !== -1) return end;
      }
      return -1;
    },
    lastStart(text) {
      let place = text.length;
      for (let count = 0; count < units.length; count++) {
        if (place <= 0) return -1;
        place -= place > 1 && (text.codePointAt(place - 2) as number) > 0xffff ? 2 : 1;
      }
      return place;
    },
  };
}

/** Characters beyond the first 65,536 take two places of a string. */
function getWidth(codePoint: number): number {
  return codePoint > 0xffff ? 2 : 1;
}
