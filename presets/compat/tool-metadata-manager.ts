import { compileToolRules } from "./patterns.ts";
import type { CompatToolMetadata, CompatToolRule } from "./types.ts";

/** Stores tools with the decisions of the rules about them. */
export class ToolMetadataManager {
  /** Tools as they were added, by server and name. */
  readonly #added = new Map<string, Map<string, CompatToolMetadata>>();
  /** Tools as the rules leave them. */
  readonly #tools = new Map<string, Map<string, CompatToolMetadata>>();
  #apply: (tool: CompatToolMetadata) => CompatToolMetadata = (tool) => ({ ...tool, tags: [...tool.tags] });

  /** Adds a tool, or replaces the one of this name. Rules that were applied count for it too. */
  addTool(tool: CompatToolMetadata): void {
    store(this.#added, tool);
    store(this.#tools, this.#apply(tool));
  }

  /** Decides about all tools anew. */
  applyRules(rules: readonly CompatToolRule[]): void {
    const { decide } = compileToolRules(rules);
    this.#apply = (tool) => {
      const { enabled, tags } = decide(tool.server, tool.name);
      return { ...tool, enabled, tags: [...new Set([...tool.tags, ...tags])] };
    };
    for (const tool of list(this.#added)) store(this.#tools, this.#apply(tool));
  }

  getToolsByServer(server: string, includeDisabled = false): CompatToolMetadata[] {
    return [...(this.#tools.get(server)?.values() ?? [])].filter(({ enabled }) => enabled || includeDisabled);
  }

  getTool(server: string, tool: string): CompatToolMetadata | null {
    return this.#tools.get(server)?.get(tool) ?? null;
  }

  getAllTools(includeDisabled = false): CompatToolMetadata[] {
    return list(this.#tools).filter(({ enabled }) => enabled || includeDisabled);
  }

  /** Counts the tools of a server, disabled ones included. */
  getToolCount(server: string): number {
    return this.#tools.get(server)?.size ?? 0;
  }

  getEnabledCount(server: string): number {
    return this.getToolsByServer(server).length;
  }
}

function store(tools: Map<string, Map<string, CompatToolMetadata>>, tool: CompatToolMetadata): void {
  const own = tools.get(tool.server) ?? new Map<string, CompatToolMetadata>();
  tools.set(tool.server, own.set(tool.name, tool));
}

function list(tools: ReadonlyMap<string, ReadonlyMap<string, CompatToolMetadata>>): CompatToolMetadata[] {
  return [...tools.values()].flatMap((own) => [...own.values()]);
}
