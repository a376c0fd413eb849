import type { Gateway, Tool } from "../../core/mod.ts";
import type { Ranker } from "./ranker.ts";

/** Hands a ranker the tools of those servers that are not as they were; tells whether there were any. */
export function updater({ catalog }: Gateway, ranker: Pick<Ranker, "update">): () => boolean {
  const taken = new Map<string, readonly Tool[]>();
  let revision = -1;
  return () => {
    if (revision === catalog.revision) return false;
    revision = catalog.revision;
    const servers = new Set(catalog.servers().map(({ id }) => id));
    for (const gone of [...taken.keys()].filter((id) => !servers.has(id))) {
      taken.delete(gone);
      ranker.update(gone, []);
    }
    for (const id of servers) {
      // The catalog never changes a list of tools: it has another one.
      const tools = catalog.tools(id);
      if (taken.get(id) === tools) continue;
      taken.set(id, tools);
      // Policy comes before ranking: what is switched off is not even a candidate.
      ranker.update(
        id,
        tools.filter((tool) => tool.enabled),
      );
    }
    return true;
  };
}
