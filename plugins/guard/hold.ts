import type { Gateway, MaybePromise, Tool } from "../../core/mod.ts";
import { createPins, type HeldTool, type Pins, type PinsOptions } from "./pins.ts";

/** Keeps tools that changed, or that look wrong, out of use until a person has looked at them. */
export interface Holding {
  /** Looks at a tool that is about to enter the catalog. */
  discover(tool: Tool): MaybePromise<void>;
  /** Why a tool of the catalog is held back, if it is. */
  heldOf(tool: Tool): HeldTool | undefined;
  /** Lets a tool go that was approved meanwhile. */
  recheck(toolId: string): MaybePromise<void>;
  waiting(): readonly HeldTool[];
  /** Approves what waits under the id of a tool, or all that waits of a server: nothing, where nothing waits. */
  approve(id: string): Promise<readonly HeldTool[]>;
  flush(): Promise<void>;
}

/** Makes what holds tools back. The store is asked for late: it is there once all plugins are. */
export function holdTools(gateway: Gateway, options: () => Omit<PinsOptions, "gateway">): Holding {
  // By the tool itself, since another one takes its place in the catalog when it is let go.
  const held = new WeakMap<Tool, HeldTool>();
  let made: Pins | undefined;
  const pins = (): Pins => {
    made ??= createPins({ gateway, ...options() });
    return made;
  };
  const hold = (tool: Tool, found: HeldTool | undefined): void => {
    if (!found) return;
    held.set(tool, found);
    tool.enabled = false;
    tool.disabledBecause = found.reason;
  };
  const waiting = (): HeldTool[] => gateway.catalog.tools().flatMap((tool) => held.get(tool) ?? []);

  return {
    discover(tool) {
      if (tool.builtin) return;
      const judged = pins().judge(tool);
      return judged instanceof Promise ? judged.then((found) => hold(tool, found)) : hold(tool, judged);
    },
    heldOf: (tool) => held.get(tool),
    recheck(toolId) {
      const tool = gateway.catalog.tool(toolId);
      const found = tool && held.get(tool);
      if (found) return recheck(found);
    },
    waiting,
    async approve(id) {
      const chosen = waiting().filter((one) => one.id === id || one.server === id);
      for (const one of chosen) await pins().approve(one);
      for (const server of new Set(chosen.map((one) => one.server))) await letGo(server);
      return chosen;
    },
    flush: async () => made?.flush(),
  };

  async function recheck(found: HeldTool): Promise<void> {
    if (await pins().isApproved(found)) await letGo(found.server);
  }

  /** Tools of the catalog never change: the server's enter it anew, and are looked at once more. */
  async function letGo(id: string): Promise<void> {
    const server = gateway.catalog.server(id);
    if (server) await gateway.catalog.replace(server, gateway.catalog.tools(id));
  }
}
