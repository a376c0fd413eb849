import type { Tool } from "../../core/mod.ts";
import type { Hit, MatchedTerm, Ranker } from "../../core/services/search.ts";
import { createNameIndex, type NameIndex, naming } from "../lib/tool-index.ts";
import { createLabels, tellingTerms } from "./fusion/labels.ts";
import type { QueryScores, Scored, SyncScorer } from "./scorer.ts";

/** A query is read up to here. */
const MAX_CHARACTERS = 8_000;
const MAX_TAGS = 50;
/** Score of a tag of which all words are in the query. */
const TAG = 0.7;
/** Score of the server's name in the query: more than any tag of another server's tool. */
const SERVER = 0.5;

/** Parts of a query that a tool has. */
interface TagMatch {
  tags: number;
  server: number;
  named: number;
  readonly terms: MatchedTerm[];
}

/**
 * Scores by the tags that are in the query; the name of a server in it counts too. Given names are shared with another
 * scorer, which updates them.
 */
export function tagScorer(given?: NameIndex): SyncScorer {
  const tags = createLabels();
  const servers = createLabels();
  const names = given ?? createNameIndex();
  const known = new Map<string, readonly Tool[]>();

  const find = (query: string): ReadonlyMap<Tool, TagMatch> => {
    const terms = tellingTerms(query.slice(0, MAX_CHARACTERS));
    const found = new Map<Tool, TagMatch>();
    const findMatch = (tool: Tool): TagMatch => {
      const own = found.get(tool) ?? { tags: 0, server: 0, named: naming.none, terms: [] };
      found.set(tool, own);
      return own;
    };
    for (const [{ text, tools }, share] of tags.matching(terms)) {
      for (const tool of tools) {
        const own = findMatch(tool);
        // Each further tag closes a part of the gap to 1, so no number of tags reaches it.
        own.tags = 1 - (1 - own.tags) * (1 - share * TAG);
        own.terms.push({ term: text, field: "tags", share: share * TAG * (1 - SERVER) });
      }
    }
    for (const [{ text, tools }, share] of servers.matching(terms)) {
      if (share < 1) continue;
      for (const tool of tools) {
        const own = findMatch(tool);
        own.server = 1;
        own.terms.push({ term: text, field: "server", share: SERVER });
      }
    }
    for (const [tool, how] of names.named(query)) findMatch(tool).named = how;
    return found;
  };

  return {
    name: "tag",
    update(server, tools) {
      const old = known.get(server) ?? [];
      for (const tool of old) {
        for (const tag of listTags(tool)) tags.remove(tag, tool);
        servers.remove(server, tool);
      }
      if (!given) names.remove(server, old);
      known.delete(server);
      if (tools.length === 0) return;
      known.set(server, tools);
      if (!given) names.add(server, tools);
      for (const tool of tools) {
        for (const tag of listTags(tool)) tags.add(tag, tool);
        servers.add(server, tool);
      }
    },
    query(text): QueryScores {
      const found = find(text);
      return {
        best: (count, server) =>
          [...found]
            .flatMap(([tool, own]): Scored[] =>
              server === undefined || tool.server === server ? [{ tool, score: toScore(own) }] : [],
            )
            .sort((a, b) => b.score - a.score || (a.tool.id < b.tool.id ? -1 : 1))
            .slice(0, Math.max(0, count)),
        score: (tool) => toScore(found.get(tool)),
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
function toScore(found: TagMatch | undefined): number {
  if (!found) return 0;
  if (found.named !== naming.none) return 1 + found.named;
  return found.tags * (1 - SERVER) + found.server * SERVER;
}

/** Ranks by the tags that are in the query; tools of a server that it names come before others. */
export function tagRanker(): Ranker {
  const scorer = tagScorer();
  return {
    name: "tag",
    update: scorer.update,
    rank(query, { server, limit = 10, explain = false } = {}) {
      const scores = scorer.query(query);
      const hits = scores.best(limit, server).map(({ tool, score }): Hit => {
        const relevance = Math.min(1, score);
        if (!explain) return { tool, relevance };
        return { tool, relevance, why: { scores: { tag: score }, terms: scores.terms(tool) } };
      });
      return { hits, nearest: [] };
    },
  };
}

function listTags({ tags }: Tool): readonly string[] {
  if (tags.length === 0) return tags;
  return [...new Set(tags.slice(0, MAX_TAGS))];
}
