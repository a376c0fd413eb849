import type { Tool } from "../../../core/mod.ts";
import type { Asked } from "../voice.ts";
import { blend } from "./blend.ts";
import { type Evidence, evidenceOf, isCompared } from "./evidence.ts";

/** How much each voice counts. */
export interface FusionWeights {
  readonly keyword: number;
  readonly embedding: number;
  readonly tag: number;
}

/** What the voices say of one text, by their names. */
export type Voiced = Readonly<Record<keyof FusionWeights, Asked>>;

/** A tool that a query may mean. */
export interface Candidate {
  readonly tool: Tool;
  /** How far it stands out; the scale is the query's own. */
  readonly score: number;
  /** What each voice gave of that. */
  readonly shares: Readonly<Record<keyof FusionWeights, number>>;
  /** What tells whether it is really meant. */
  evidence(): Evidence;
}

/** How much a query counts as a whole beside the best of its clauses. */
const WHOLE = 0.5;
/** A tool that the query names comes before all that it does not, whatever the voices say. */
const NAMED = 1_000;

const order = ["keyword", "embedding", "tag"] as const;

/**
 * Puts together what voices say of a query and of its clauses: the tools that may be meant, the best first;
 * only those of one server where it is given.
 */
export function read(
  whole: Voiced,
  clauses: readonly Voiced[],
  weights: FusionWeights,
  server?: string,
): readonly Candidate[] {
  const texts = [whole, ...clauses];
  const blends = texts.map((voiced) =>
    blend(
      order.map((name) => ({
        asked: voiced[name],
        weight: weights[name],
        hears: name === "embedding" ? (tool: Tool) => isCompared(voiced, tool) : undefined,
      })),
      server,
    ),
  );
  // A tool that is a candidate without its server being named scores the same with it: the order stays.
  const everywhere = new Set(blends.flatMap((each) => [...each.everywhere]));
  const found = [...new Set(blends.flatMap(({ candidates }) => [...candidates]))].map((tool) => {
    const [own = [], ...others] = blends.map(({ shares, exactShares }) =>
      everywhere.has(tool) ? shares(tool) : exactShares(tool),
    );
    const best = others.reduce((a, b) => (sum(b) > sum(a) ? b : a), others[0] ?? own);
    const shares = own.map((share, at) => share * WHOLE + (best[at] ?? 0) * (1 - WHOLE));
    return { tool, shares, score: sum(shares), named: whole.keyword.features(tool)["named"] ?? 0 };
  });
  found.sort(
    (a, b) => b.named * NAMED + b.score - a.named * NAMED - a.score || (a.tool.id < b.tool.id ? -1 : 1),
  );
  return found.map(({ tool, score, shares }) => ({
    tool,
    score,
    shares: { keyword: shares[0] ?? 0, embedding: shares[1] ?? 0, tag: shares[2] ?? 0 },
    evidence: () => evidenceOf(texts, tool),
  }));
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
