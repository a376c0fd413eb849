import fc from "fast-check";
import { expect, test } from "vitest";
import { nearest } from "../../core/mod.ts";

/** The distance by its definition: slow, and plainly right. */
function distance(a: string, b: string): number {
  const known = new Map<string, number>();
  return from(a.length, b.length);

  function from(i: number, j: number): number {
    if (i === 0 || j === 0) return i + j;
    const key = `${i},${j}`;
    const found = known.get(key);
    if (found !== undefined) return found;
    const options = [
      from(i - 1, j) + 1,
      from(i, j - 1) + 1,
      from(i - 1, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1),
    ];
    if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
      options.push(from(i - 2, j - 2) + 1);
    const least = Math.min(...options);
    known.set(key, least);
    return least;
  }
}

const word = fc.string({ unit: fc.constantFrom("a", "b", "c", "-"), maxLength: 9 });

test("it names the closest candidate within a third of the word, the first of several", () => {
  fc.assert(
    fc.property(word, fc.array(word, { maxLength: 6 }), (typed, candidates) => {
      const allowed = Math.max(1, Math.floor(typed.length / 3));
      const distances = candidates.map((candidate) => distance(typed, candidate));
      const least = Math.min(...distances);
      const best = least <= allowed ? candidates[distances.indexOf(least)] : undefined;
      expect(nearest(typed, candidates)).toBe(best);
    }),
  );
});

test("a word that is there is its own nearest", () => {
  fc.assert(
    fc.property(fc.array(word, { minLength: 1 }), (candidates) => {
      expect(nearest(candidates[0] as string, candidates)).toBe(candidates[0]);
    }),
  );
});

test("typical slips are understood: a swap, a missing letter, another case", () => {
  const names = ["resolve", "policy", "validate", "execute", "audit"];
  expect(nearest("plociy", names)).toBe("policy");
  expect(nearest("excute", names)).toBe("execute");
  expect(nearest("AUDIT", names)).toBe("audit");
  expect(nearest("valdiate", new Set(names))).toBe("validate");
});

test("a word that is like none of them gets no hint", () => {
  expect(nearest("teleport", ["resolve", "policy"])).toBeUndefined();
  expect(nearest("anything", [])).toBeUndefined();
});
