/** Says whether a text matches. */
export type Matcher = (text: string) => boolean;

/** One character of a pattern: the very character, or a set of code points as the ends of its ranges. */
type Unit = string | { readonly ranges: readonly number[]; readonly negated: boolean };

const ANY: Unit = { ranges: [], negated: true };
const HYPHEN = 0x2d;

/** What stands between two stars. */
interface Piece {
  /** Where it ends if it begins at this place, or -1. */
  endFrom(text: string, start: number): number;
  /** Where the first one from this place on ends, or -1. */
  endAfter(text: string, from: number): number;
  /** Where it must begin to end with the text, or -1 where the text is too short. */
  lastStart(text: string): number;
}

/**
 * Compiles a glob: `*` is any number of characters, `?` is one, `[abc]` one of these, `[!a-z]` (or `[^a-z]`)
 * none of these; anything else is itself, in its own case. A star takes as few characters as it can and is
 * never tried again (what is between two stars may as well stand at the first place it fits), so no pattern
 * can stall: the time is at most that of comparing the text with each piece at each place.
 */
export function globMatcher(pattern: string): Matcher {
  // By far the most common kind.
  const within = /^\*([^*?[]+)\*$/.exec(pattern)?.[1];
  if (within) return (text) => text.includes(within);
  const [first, ...rest] = parse(pattern).map(pieceOf);
  const last = rest.pop();
  if (!first) return (text) => text === "";
  if (!last) return (text) => first.endFrom(text, 0) === text.length;
  return (text) => {
    let end = first.endFrom(text, 0);
    if (end === -1) return false;
    const start = last.lastStart(text);
    if (start < end || last.endFrom(text, start) !== text.length) return false;
    for (const piece of rest) {
      end = piece.endAfter(text, end);
      if (end === -1 || end > start) return false;
    }
    return true;
  };
}

/** The units between the stars; there is always one list more than there are stars. */
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
      piece.push(setOf(characters.slice(index + 1, closing)));
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

function setOf(content: readonly string[]): Unit {
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
  const { ranges, negated } = unit;
  for (let index = 0; index < ranges.length; index += 2) {
    if ((ranges[index] as number) <= codePoint && codePoint <= (ranges[index + 1] as number)) return !negated;
  }
  return negated;
}

function pieceOf(units: readonly Unit[]): Piece {
  return units.every((unit) => typeof unit === "string") ? literal(units.join("")) : sequence(units);
}

function literal(wanted: string): Piece {
  return {
    endFrom: (text, start) => (text.startsWith(wanted, start) ? start + wanted.length : -1),
    endAfter(text, from) {
      const start = text.indexOf(wanted, from);
      return start === -1 ? -1 : start + wanted.length;
    },
    lastStart: (text) => (text.endsWith(wanted) ? text.length - wanted.length : -1),
  };
}

function sequence(units: readonly Unit[]): Piece {
  const endFrom = (text: string, start: number): number => {
    let place = start;
    for (const unit of units) {
      const codePoint = text.codePointAt(place);
      if (codePoint === undefined) return -1;
      if (!fits(unit, codePoint)) return -1;
      place += widthOf(codePoint);
    }
    return place;
  };
  return {
    endFrom,
    endAfter(text, from) {
      for (let start = from; start < text.length; start += widthOf(text.codePointAt(start) as number)) {
        const end = endFrom(text, start);
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

/** A character beyond the first 65,536 takes two places of a string. */
function widthOf(codePoint: number): number {
  return codePoint > 0xffff ? 2 : 1;
}
