/** A text, and which pairs of letters are somewhere in it. */
export interface PairedText {
  readonly text: string;
  readonly pairs: Uint8Array;
}

/** A word that can be looked for by its pairs of letters. */
export interface PairedWord {
  readonly word: string;
  readonly pairs: readonly number[];
}

/** A power of two: pairs that share a place only make the check less sharp, never wrong. */
const PLACES = 4_096;

/** Prepares texts in which many words are looked for, one at a time: the last one is gone when the next is made. */
export function pairing(): (text: string) => PairedText {
  const pairs = new Uint8Array(PLACES);
  return (text) => {
    pairs.fill(0);
    let last = text.charCodeAt(0);
    for (let index = 1; index < text.length; index++) {
      const next = text.charCodeAt(index);
      pairs[placeOf(last, next)] = 1;
      last = next;
    }
    return { text, pairs };
  };
}

/** Prepares a word that is looked for in many texts. */
export function pairedWord(word: string): PairedWord {
  const pairs = Array.from({ length: word.length - 1 }, (_, index) =>
    placeOf(word.charCodeAt(index), word.charCodeAt(index + 1)),
  );
  return { word, pairs };
}

/** Whether a word is in a text. Nearly all that are not are told by a pair or two. */
export function holds({ text, pairs: present }: PairedText, { word, pairs }: PairedWord): boolean {
  for (let index = 0; index < pairs.length; index++) {
    if (present[pairs[index] as number] === 0) return false;
  }
  return text.includes(word);
}

function placeOf(first: number, second: number): number {
  return (first * 67 + second) & (PLACES - 1);
}
