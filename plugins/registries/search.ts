import type { Gateway } from "../../core/mod.ts";
import type { Registries } from "../../core/services/registries.ts";
import type { RegistryClient } from "./client.ts";
import type { MirrorParts } from "./mirror.ts";

const LIMIT = 20;

/**
 * Creates the search of the registries: in their copy on this machine if there is one and it may be used, else in the
 * registries themselves.
 */
export function createRegistrySearch(
  client: RegistryClient,
  gateway: Pick<Gateway, "drivers">,
  shared?: MirrorParts["shared"],
): Registries {
  return {
    async search(query, { useCache = true, limit = LIMIT, signal } = {}) {
      const [{ findLocal, findRemote }, { createMirror }, { createRegistryRanker }] = await Promise.all([
        import("./find.ts"),
        import("./mirror.ts"),
        import("./rank.ts"),
      ]);
      const ranker = () => createRegistryRanker(gateway);
      const remote: RegistryClient = {
        ...client,
        search: (text, options) => client.search(text, { ...options, useCache }),
      };
      const local = useCache
        ? await findLocal(createMirror({ client, shared }), query, { limit, ranker, signal })
        : undefined;
      const { hits, troubles } = local ?? (await findRemote(remote, query, { limit, ranker, signal }));
      return { entries: hits.map(({ entry }) => entry), troubles };
    },
  };
}
