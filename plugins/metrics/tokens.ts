import type { Gateway, Tool, ToolDefinition } from "../../core/mod.ts";
import { estimateTokens } from "../_tokens.ts";
import type {} from "../serve/exposure.ts";

/** What definitions cost an agent: all of them, and what it is shown instead. */
export interface TokenSaving {
  /** All tools of all servers that can be called. */
  readonly all: number;
  /** What a client sees that is nobody in particular. */
  readonly shown: number;
  readonly saved: number;
}

/** So many tools are measured before others get their turn. */
const SLICE = 100;

/** Makes what measures the definitions of a gateway. A tool of the catalog never changes, so each is measured once. */
export function tokenMeter(gateway: Gateway): () => Promise<TokenSaving> {
  const known = new WeakMap<ToolDefinition, number>();
  let revision = -1;
  let measured: Promise<TokenSaving> | undefined;

  const sum = async (tools: readonly Tool[]): Promise<number> => {
    let [total, fresh] = [0, 0];
    for (const tool of tools) {
      if (!tool.enabled) continue;
      const cost = known.get(tool) ?? costOfTool(tool);
      if (!known.has(tool) && ++fresh % SLICE === 0) await new Promise((resolve) => setImmediate(resolve));
      known.set(tool, cost);
      total += cost;
    }
    return Math.ceil(total);
  };

  const measure = async (): Promise<TokenSaving> => {
    const all = await sum(gateway.catalog.tools());
    const exposure = gateway.services.exposure?.of(undefined) ?? "meta";
    const own = exposure === "tools" ? 0 : await sum(gateway.tools);
    // Where there are no tools of the gateway itself, what is shown is the catalog already.
    const isCatalog = gateway.tools.every(({ builtin }) => !builtin);
    const shown = isCatalog ? all : own + (exposure === "meta" ? 0 : all);
    return { all, shown, saved: Math.max(0, all - shown) };
  };

  return () => {
    if (measured === undefined || revision !== gateway.catalog.revision) {
      revision = gateway.catalog.revision;
      measured = measure();
    }
    return measured;
  };
}

/** About how many tokens a model reads for a tool: what a client passes on to it, and nothing else. */
function costOfTool({ name, description, inputSchema }: ToolDefinition): number {
  return estimateTokens(JSON.stringify({ name, description, inputSchema })) + 1;
}
