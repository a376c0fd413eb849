import type { Tool } from "../../../core/mod.ts";
import type { FusionWeights } from "../options.ts";
import type { QueryScores } from "../scorer.ts";
import { collectEvidence, type Evidence, isCompared } from "./relevance.ts";

/** Scores of each scorer for one text, by the name of the scorer. */
export type FusionScores = Readonly<Record<keyof FusionWeights, QueryScores>>;

/** Tool that a query may mean. */
export interface Candidate {
  readonly tool: Tool;
  /** How far it stands out; the scale is the query's own. */
  readonly score: number;
  /** Contribution of each scorer to the score. */
  readonly scores: Readonly<Record<keyof FusionWeights, number>>;
  /** Tells whether it is really meant. */
  evidence(): Evidence;
}

/** Weight of the whole query beside the best of its clauses. */
const WHOLE = 0.5;
/** A tool that the query names comes before all that it does not name, whatever the scores. */
const NAMED = 1_000;

const order = ["keyword", "embedding", "tag"] as const;

/** Blends the scores of a query and of its clauses to candidates, best first; of one server if it is given. */
export function findCandidates(
  whole: FusionScores,
  clauses: readonly FusionScores[],
  weights: FusionWeights,
  server?: string,
): readonly Candidate[] {
  const texts = [whole, ...clauses];
  const blends = texts.map((text) =>
    blend(
      order.map((name) => ({
        scores: text[name],
        weight: weights[name],
        knows: name === "embedding" ? (tool: Tool) => isCompared(text, tool) : undefined,
      })),
      server,
    ),
  );
  // A tool that is a candidate among all servers scores the same among those of one: the order stays.
  const everywhere = new Set(blends.flatMap((each) => [...each.everywhere]));
  const found = [...new Set(blends.flatMap(({ candidates }) => [...candidates]))].map((tool) => {
    const [own = [], ...others] = blends.map(({ scores, exactScores }) =>
      everywhere.has(tool) ? scores(tool) : exactScores(tool),
    );
    const best = others.reduce((a, b) => (sum(b) > sum(a) ? b : a), others[0] ?? own);
    const scores = own.map((score, at) => score * WHOLE + (best[at] ?? 0) * (1 - WHOLE));
    return { tool, scores, score: sum(scores), named: whole.keyword.features(tool)["named"] ?? 0 };
  });
  found.sort(
    (a, b) => b.named * NAMED + b.score - a.named * NAMED - a.score || (a.tool.id < b.tool.id ? -1 : 1),
  );
  return orderEquals(found, whole.keyword).map(({ tool, score, scores }) => ({
    tool,
    score,
    scores: { keyword: scores[0] ?? 0, embedding: scores[1] ?? 0, tag: scores[2] ?? 0 },
    evidence: () => collectEvidence(texts, tool),
  }));
}

/** Coverage of a query of which every telling word is found; sums of fractions are not exact. */
const WHOLE_QUERY = 0.999;

/**
 * Orders neighbors of a server that a query names, and fits equally, by their names. "github issue" says nothing of what
 * is to be done: `create_issue` and `update_issue` have all its words, and the length of a description would decide.
 */
function orderEquals<T extends { readonly tool: Tool; readonly named: number }>(
  found: readonly T[],
  keyword: QueryScores,
): readonly T[] {
  const ordered = [...found];
  /** The current neighbors of each server: what they have in common, and their places. */
  const runs = new Map<string, { readonly key: number | undefined; readonly places: number[] }>();
  for (const [place, item] of found.entries()) {
    const { server } = item.tool;
    const key = item.named > 0 ? undefined : equalityKey(keyword, item.tool);
    const run = runs.get(server);
    if (run?.key === undefined || run.key !== key) {
      runs.set(server, { key, places: [place] });
      continue;
    }
    run.places.push(place);
    const items = run.places.map((at) => ordered[at] as T).sort((a, b) => (a.tool.id < b.tool.id ? -1 : 1));
    for (const [index, at] of run.places.entries()) ordered[at] = items[index] as T;
  }
  return ordered;
}

/** Returns what tells a tool from its equals; undefined if the query says more than that, or does not name the server. */
function equalityKey(keyword: QueryScores, tool: Tool): number | undefined {
  const { queryCoverage = 0, nameCoverage = 0, serverCoverage = 0 } = keyword.features(tool);
  return queryCoverage >= WHOLE_QUERY && serverCoverage > 0 && nameCoverage > 0 ? nameCoverage : undefined;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}

/** A query is read up to here. */
const MAX_CHARACTERS = 4_000;
const MAX_CLAUSES = 6;

/** Ends of sentences and lines, and words that join one request to the next. */
const boundary = /(?<=[.?!;。？！；])\s+|\n+|,\s+(?=(?:and|then)\s)|\s\+\s|\s(?:and then|then)\s/i;

/**
 * Splits a query into its requests: "Read the file. Then mail it" asks for two tools, and each is easier to find by
 * its own words. Returns none for a single request.
 */
export function splitClauses(query: string): readonly string[] {
  const clauses = query
    .slice(0, MAX_CHARACTERS)
    .split(boundary)
    .map((clause) => clause.trim())
    .filter((clause) => /\S\s+\S/.test(clause));
  const different = [...new Set(clauses)];
  return different.length > 1 ? different.slice(0, MAX_CLAUSES) : [];
}

/** Scores of one scorer for one text, with the weight of the scorer. */
interface WeightedScores {
  readonly scores: QueryScores;
  readonly weight: number;
  /** Whether the scorer knows a tool; every tool by default. */
  readonly knows?: ((tool: Tool) => boolean) | undefined;
}

/** Number of the best tools of each scorer that become candidates. */
const DEPTH = 40;

/**
 * Brings scorers to one scale: each counts by how far a tool stands out among all candidates, in standard
 * deviations. Scaling by the highest score alone would make a weak best hit look as good as a strong one.
 * Tools of one server are scaled as they are among all, so that narrowing a search changes no order.
 */
function blend(scorers: readonly WeightedScores[], server?: string) {
  const everywhere = collectBest(scorers);
  const scaled = scorers.map(({ scores, weight, knows = () => true }) => {
    const raw = new Map([...everywhere].filter(knows).map((tool) => [tool, scores.score(tool)]));
    const scale = createScale([...raw.values()]);
    // A tool that a scorer does not know is neither better nor worse by it.
    const toScaled = (score: number | undefined): number => (score === undefined ? 0 : weight * scale(score));
    const known = new Map([...everywhere].map((tool) => [tool, toScaled(raw.get(tool))]));
    const exact = (tool: Tool): number =>
      known.get(tool) ?? toScaled(knows(tool) ? scores.score(tool) : undefined);
    return { known, exact, least: Math.min(0, ...known.values()) };
  });
  return {
    /** The candidates of all servers. */
    everywhere,
    /** The tools that some scorer has among its best; of one server if it is given. */
    candidates: server === undefined ? everywhere : collectBest(scorers, server),
    /** Scaled score of each scorer, in their order. A tool that is no candidate has the least score of all. */
    scores: (tool: Tool) => scaled.map(({ known, least }) => known.get(tool) ?? least),
    /** Scaled score of each scorer, computed for any tool. */
    exactScores: (tool: Tool) => scaled.map(({ exact }) => exact(tool)),
  };
}

function collectBest(scorers: readonly WeightedScores[], server?: string): ReadonlySet<Tool> {
  return new Set(scorers.flatMap(({ scores }) => scores.best(DEPTH, server).map(({ tool }) => tool)));
}

function createScale(scores: readonly number[]): (score: number) => number {
  const mean = scores.reduce((sum, score) => sum + score, 0) / scores.length;
  const variance = scores.reduce((sum, score) => sum + (score - mean) ** 2, 0) / scores.length;
  // Where all scores are equal, the scorer tells no tool from another.
  if (!(variance > 1e-12)) return () => 0;
  const deviation = Math.sqrt(variance);
  return (score) => (score - mean) / deviation;
}
