import fc from "fast-check";
import { expect, test } from "vitest";
import { Bag } from "../../core/bag.ts";

test("holds what was added and not removed, and nothing else", () => {
  fc.assert(
    fc.property(fc.array(fc.boolean(), { maxLength: 100 }), (adds) => {
      const bag = new Bag<object>();
      const held = new Map<object, number>();
      for (const add of adds) {
        const [oldest] = held;
        if (add || !oldest) {
          const item = {};
          held.set(item, bag.add(item));
        } else {
          bag.remove(oldest[1]);
          held.delete(oldest[0]);
          expect(bag.has(oldest[0])).toBe(false);
        }
        expect(bag.size).toBe(held.size);
        expect(new Set(bag)).toEqual(new Set(held.keys()));
        for (const item of held.keys()) expect(bag.has(item)).toBe(true);
      }
    }),
  );
});
