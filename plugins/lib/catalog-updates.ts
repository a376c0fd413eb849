import type { Catalog, Tool } from "../../core/mod.ts";

/** Index of tools by server. */
export interface ToolIndex {
  /** Replaces the tools of one server; an empty list removes it. */
  update(server: string, tools: readonly Tool[]): void;
}

/** Returns a function that updates an index where the catalog has changed, and tells whether it has. */
export function followCatalog(catalog: Catalog, index: ToolIndex): () => boolean {
  const known = new Map<string, readonly Tool[]>();
  let revision = -1;
  return () => {
    if (revision === catalog.revision) return false;
    revision = catalog.revision;
    const servers = new Set(catalog.servers().map(({ id }) => id));
    for (const gone of [...known.keys()].filter((id) => !servers.has(id))) {
      known.delete(gone);
      index.update(gone, []);
    }
    for (const id of servers) {
      // The catalog never changes a list of tools: it replaces it.
      const tools = catalog.tools(id);
      if (known.get(id) === tools) continue;
      known.set(id, tools);
      // Policy comes before ranking: a disabled tool is no candidate.
      index.update(
        id,
        tools.filter((tool) => tool.enabled),
      );
    }
    return true;
  };
}
