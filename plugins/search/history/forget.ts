import { type StateStore, updateState } from "../../state/mod.ts";
import { historyKeys } from "./digest.ts";
import { storedUses, usesIn } from "./uses.ts";

/** Forgets what the searches of all actors led to. Returns how many uses of tools that were. */
export async function forgetHistory(store: StateStore): Promise<number> {
  let forgotten = 0;
  for (const { key, value } of await store.list(historyKeys))
    if (await store.delete(key)) forgotten += usesIn(value).length;
  return forgotten;
}

/** Forgets that searches of all actors led to one tool. Returns how many uses of it that were. */
export async function forgetTool(store: StateStore, tool: string): Promise<number> {
  let forgotten = 0;
  for (const { key } of await store.list(historyKeys)) {
    let here = 0;
    await updateState(store, key, (value) => {
      const uses = usesIn(value);
      const others = uses.filter((use) => use.tool !== tool);
      here = uses.length - others.length;
      return here > 0 ? storedUses(others) : undefined;
    });
    forgotten += here;
    const left = await store.get(key);
    if (left && usesIn(left.value).length === 0) await store.delete(key, left.version);
  }
  return forgotten;
}
