import type { Tool } from "../../../core/mod.ts";
import type { Asked } from "../voice.ts";

/** A voice's word on one text, and how much it counts. */
export interface Weighted {
  readonly asked: Asked;
  readonly weight: number;
  /** Whether it has anything to say of a tool, for or against it; of every tool where this is not told. */
  readonly hears?: ((tool: Tool) => boolean) | undefined;
}

/** What voices of different scales give tools in common. */
export interface Blend {
  /** The tools that some voice puts among its best; of one server where it is given. */
  readonly candidates: ReadonlySet<Tool>;
  /** Those of all servers. */
  readonly everywhere: ReadonlySet<Tool>;
  /** What each voice gives a tool, in their order. What is no candidate anywhere has what the least of them has. */
  shares(tool: Tool): readonly number[];
  /** The same, but every tool is asked for. */
  exactShares(tool: Tool): readonly number[];
}

/** So many of a voice's best tools are looked at. */
const DEPTH = 40;

/**
 * Brings voices to one scale: each counts by how far a tool stands out among all candidates, in standard
 * deviations. Scaling by the highest score alone would make a weak best hit look as good as a strong one.
 * Tools of one server are scaled as they are among all, so that narrowing a search changes no order.
 */
export function blend(voices: readonly Weighted[], server?: string): Blend {
  const everywhere = best(voices);
  const scaled = voices.map(({ asked, weight, hears = () => true }) => {
    const scores = new Map([...everywhere].filter(hears).map((tool) => [tool, asked.score(tool)]));
    const scale = scaleOf([...scores.values()]);
    // What a voice does not know is neither better nor worse by it.
    const share = (score: number | undefined): number => (score === undefined ? 0 : weight * scale(score));
    const shares = new Map([...everywhere].map((tool) => [tool, share(scores.get(tool))]));
    const exact = (tool: Tool): number =>
      shares.get(tool) ?? share(hears(tool) ? asked.score(tool) : undefined);
    return { shares, exact, least: Math.min(0, ...shares.values()) };
  });
  return {
    everywhere,
    candidates: server === undefined ? everywhere : best(voices, server),
    shares: (tool) => scaled.map(({ shares, least }) => shares.get(tool) ?? least),
    exactShares: (tool) => scaled.map(({ exact }) => exact(tool)),
  };
}

function best(voices: readonly Weighted[], server?: string): ReadonlySet<Tool> {
  return new Set(voices.flatMap(({ asked }) => asked.best(DEPTH, server).map(({ tool }) => tool)));
}

function scaleOf(scores: readonly number[]): (score: number) => number {
  const mean = scores.reduce((sum, score) => sum + score, 0) / scores.length;
  const variance = scores.reduce((sum, score) => sum + (score - mean) ** 2, 0) / scores.length;
  // Where all are alike, a voice tells none of them from another.
  if (!(variance > 1e-12)) return () => 0;
  const deviation = Math.sqrt(variance);
  return (score) => (score - mean) / deviation;
}
