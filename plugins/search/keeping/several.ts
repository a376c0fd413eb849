import { readBlocks, writeBlocks } from "./blocks.ts";
import type { Keeping } from "./keeping.ts";

const MARK = "toolpipe-voices-1";

/** What several voices have read, as one. */
export function keepingOf(
  voices: readonly { readonly name: string; readonly keeping?: Keeping | undefined }[],
): Keeping {
  const all = voices.flatMap(({ name, keeping }) => (keeping ? [{ name, keeping }] : []));
  return {
    get fresh() {
      return Math.max(0, ...all.map(({ keeping }) => keeping.fresh));
    },
    save: () =>
      writeBlocks(
        MARK,
        all.map(({ name }) => name),
        all.map(({ keeping }) => [keeping.save()]),
      ),
    load(bytes) {
      const read = readBlocks(MARK, bytes);
      if (!read) return false;
      const names = read.header as readonly string[];
      return all
        .map(({ name, keeping }) => {
          const block = read.blocks[names.indexOf(name)];
          return block !== undefined && keeping.load(block);
        })
        .every(Boolean);
    },
  };
}
