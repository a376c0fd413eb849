import type { Tool } from "../../core/mod.ts";
import { createLabels, tellingTerms } from "./_labels.ts";
import { createNames, type Names, naming } from "./keyword/names.ts";
import type { Hit, MatchedTerm, Ranker } from "./ranker.ts";
import type { Asked, PromptVoice, Scored } from "./voice.ts";

/** A query is read so far, and no further. */
const MAX_CHARACTERS = 8_000;
const MAX_TAGS = 50;
/** What a tag is worth that is in the query whole. */
const TAG = 0.7;
/** What the name of its server in the query adds: more than any tag of another server's tool is worth. */
const SERVER = 0.5;

/** What a tool has of a query. */
interface Found {
  tags: number;
  server: number;
  named: number;
  readonly terms: MatchedTerm[];
}

/**
 * Scores by the tags that are in the query; the name of a server in it counts too. Names that are given are those of
 * another voice, which keeps them.
 */
export function tagVoice(given?: Names): PromptVoice {
  const tags = createLabels();
  const servers = createLabels();
  const names = given ?? createNames();
  const known = new Map<string, readonly Tool[]>();

  const find = (query: string): ReadonlyMap<Tool, Found> => {
    const terms = tellingTerms(query.slice(0, MAX_CHARACTERS));
    const found = new Map<Tool, Found>();
    const at = (tool: Tool): Found => {
      const own = found.get(tool) ?? { tags: 0, server: 0, named: naming.none, terms: [] };
      found.set(tool, own);
      return own;
    };
    for (const [{ text, tools }, share] of tags.matching(terms)) {
      for (const tool of tools) {
        const own = at(tool);
        // Each further tag takes away a part of what is still missing, so no number of them reaches 1.
        own.tags = 1 - (1 - own.tags) * (1 - share * TAG);
        own.terms.push({ term: text, field: "tags", share: share * TAG * (1 - SERVER) });
      }
    }
    for (const [{ text, tools }, share] of servers.matching(terms)) {
      if (share < 1) continue;
      for (const tool of tools) {
        const own = at(tool);
        own.server = 1;
        own.terms.push({ term: text, field: "server", share: SERVER });
      }
    }
    for (const [tool, how] of names.named(query)) at(tool).named = how;
    return found;
  };

  return {
    name: "tag",
    update(server, tools) {
      const old = known.get(server) ?? [];
      for (const tool of old) {
        for (const tag of tagsOf(tool)) tags.remove(tag, tool);
        servers.remove(server, tool);
      }
      if (!given) names.remove(server, old);
      known.delete(server);
      if (tools.length === 0) return;
      known.set(server, tools);
      if (!given) names.add(server, tools);
      for (const tool of tools) {
        for (const tag of tagsOf(tool)) tags.add(tag, tool);
        servers.add(server, tool);
      }
    },
    ask(query): Asked {
      const found = find(query);
      return {
        best: (count, server) =>
          [...found]
            .flatMap(([tool, own]): Scored[] =>
              server === undefined || tool.server === server ? [{ tool, score: scoreOf(own) }] : [],
            )
            .sort((a, b) => b.score - a.score || (a.tool.id < b.tool.id ? -1 : 1))
            .slice(0, Math.max(0, count)),
        score: (tool) => scoreOf(found.get(tool)),
        features(tool) {
          const { tags = 0, server = 0, named = naming.none } = found.get(tool) ?? {};
          return { tags, server, named };
        },
        terms: (tool) => (found.get(tool)?.terms ?? []).toSorted((a, b) => b.share - a.share),
      };
    },
  };
}

/** A tool that is named comes first, then the tools of a server that is named, those with fitting tags before others. */
function scoreOf(found: Found | undefined): number {
  if (!found) return 0;
  if (found.named !== naming.none) return 1 + found.named;
  return found.tags * (1 - SERVER) + found.server * SERVER;
}

/** Ranks by the tags that are in the query; tools of a server that it names come before others. */
export function tagRanker(): Ranker {
  const voice = tagVoice();
  return {
    name: "tag",
    update: voice.update,
    rank(query, { server, limit = 10, explain = false } = {}) {
      const asked = voice.ask(query);
      const hits = asked.best(limit, server).map(({ tool, score }): Hit => {
        const relevance = Math.min(1, score);
        if (!explain) return { tool, relevance };
        return { tool, relevance, why: { shares: { tag: score }, terms: asked.terms(tool) } };
      });
      return { hits, nearest: [] };
    },
  };
}

function tagsOf({ tags }: Tool): readonly string[] {
  if (tags.length === 0) return tags;
  return [...new Set(tags.slice(0, MAX_TAGS))];
}
