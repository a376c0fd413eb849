import type { Gateway, Plugin } from "../../core/mod.ts";
import { toolsOf } from "../lib/servers.ts";
import { counted, shownLine } from "../lib/terminal/output.ts";
import { isHeld, statusesOf } from "../lib/terminal/servers.ts";

/** Tells of servers as they say what they have. */
export interface Arrivals {
  /** Must be one of the gateway's plugins. */
  readonly plugin: Plugin;
  /** Tells of this gateway's servers from now on, and of those that are there already. */
  show(gateway: Gateway): void;
  /** Tells of those that nothing was heard of. */
  finish(): void;
}

/** Makes what tells of servers, each of them once. */
export function createArrivals(print: (line: string) => void): Arrivals {
  const told = new Set<string>();
  let shown: Gateway | undefined;
  const look = (): void => {
    if (!shown) return;
    for (const { name, status, reason, listedAt, ...rest } of statusesOf(shown)) {
      const isOver = listedAt !== undefined || ["error", "needs-auth"].includes(status);
      if (told.has(name) || !isOver || isHeld({ name, status, reason, listedAt, ...rest })) continue;
      told.add(name);
      print(
        listedAt === undefined
          ? `✗ ${shownLine(name)}: ${shownLine(reason)}`
          : `✓ ${shownLine(name)}: ${counted(toolsOf(shown, name).length, "tool")}`,
      );
    }
  };
  return {
    plugin: {
      name: "arrivals",
      setup: (gateway) => {
        const onChange = (): void => {
          // A plugin sees the gateway through an object of its own, with the same catalog.
          if (gateway.catalog === shown?.catalog) look();
        };
        return { "catalog:change": onChange, error: onChange };
      },
    },
    show(gateway) {
      shown = gateway;
      look();
    },
    finish: look,
  };
}
