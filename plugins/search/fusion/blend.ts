import type { Tool } from "../../../core/mod.ts";
import type { QueryScores } from "../scorer.ts";

/** Scores of one scorer for one text, with the weight of the scorer. */
export interface WeightedScores {
  readonly scores: QueryScores;
  readonly weight: number;
  /** Whether the scorer knows a tool; every tool by default. */
  readonly knows?: ((tool: Tool) => boolean) | undefined;
}

/** Scores of several scorers on one scale. */
export interface Blend {
  /** The tools that some scorer has among its best; of one server if it is given. */
  readonly candidates: ReadonlySet<Tool>;
  /** The candidates of all servers. */
  readonly everywhere: ReadonlySet<Tool>;
  /** Scaled score of each scorer, in their order. A tool that is no candidate has the least score of all. */
  scores(tool: Tool): readonly number[];
  /** Scaled score of each scorer, computed for any tool. */
  exactScores(tool: Tool): readonly number[];
}

/** Number of the best tools of each scorer that become candidates. */
const DEPTH = 40;

/**
 * Brings scorers to one scale: each counts by how far a tool stands out among all candidates, in standard
 * deviations. Scaling by the highest score alone would make a weak best hit look as good as a strong one.
 * Tools of one server are scaled as they are among all, so that narrowing a search changes no order.
 */
export function blend(scorers: readonly WeightedScores[], server?: string): Blend {
  const everywhere = bestOf(scorers);
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
    everywhere,
    candidates: server === undefined ? everywhere : bestOf(scorers, server),
    scores: (tool) => scaled.map(({ known, least }) => known.get(tool) ?? least),
    exactScores: (tool) => scaled.map(({ exact }) => exact(tool)),
  };
}

function bestOf(scorers: readonly WeightedScores[], server?: string): ReadonlySet<Tool> {
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
