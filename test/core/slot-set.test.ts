import fc from "fast-check";
import { expect, test } from "vitest";
import { SlotSet } from "../../core/slot-set.ts";

test("holds what was added and not removed, and nothing else", () => {
  fc.assert(
    fc.property(fc.array(fc.boolean(), { maxLength: 100 }), (adds) => {
      const set = new SlotSet<object>();
      const held = new Map<object, number>();
      for (const add of adds) {
        const [oldest] = held;
        if (add || !oldest) {
          const item = {};
          held.set(item, set.add(item));
        } else {
          set.remove(oldest[1]);
          held.delete(oldest[0]);
          expect(set.has(oldest[0])).toBe(false);
        }
        expect(set.size).toBe(held.size);
        expect(new Set(set)).toEqual(new Set(held.keys()));
        for (const item of held.keys()) expect(set.has(item)).toBe(true);
      }
    }),
  );
});
