import { definePlugin, type Plugin } from "../../core/mod.ts";

/** A plugin that holds back all tools from the catalog until it is let go on. */
export function slowCatalog(): { plugin: Plugin; isReached: () => boolean; go: () => void } {
  let isReached = false;
  let go = (): void => {};
  const gate = new Promise<void>((resolve) => {
    go = resolve;
  });
  const slow = definePlugin({
    name: "slow",
    setup: () => ({
      async "tool:discover"({ builtin }) {
        if (builtin) return;
        isReached = true;
        await gate;
      },
    }),
  });
  return { plugin: slow(), isReached: () => isReached, go: () => go() };
}
