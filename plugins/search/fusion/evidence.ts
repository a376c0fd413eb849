import type { Tool } from "../../../core/mod.ts";
import type { Voiced } from "./read.ts";

/** What tells whether a tool is really meant, each by its name. */
export interface Evidence {
  /** How near their meanings are. */
  readonly cosine: number;
  /** Whether their meanings could be compared: an embedder may fail, or not have come to the tool yet. */
  readonly isCompared: boolean;
  /** How many of the telling words of the query the tool has. */
  readonly queryCoverage: number;
  /** How many of the words of the tool's name the query has. */
  readonly nameCoverage: number;
  /** Whether the query names it, and how: from 0, not at all, to 3, letter by letter. */
  readonly named: number;
}

/** What the texts of a query tell of a tool: of several clauses, the one that says most. */
export function evidenceOf(texts: readonly Voiced[], tool: Tool): Evidence {
  const most = { cosine: 0, isCompared: false, queryCoverage: 0, nameCoverage: 0, named: 0 };
  for (const voiced of texts) {
    const { keyword, embedding } = voiced;
    const { queryCoverage = 0, nameCoverage = 0, named = 0 } = keyword.features(tool);
    most.cosine = Math.max(most.cosine, embedding.score(tool));
    most.isCompared ||= isCompared(voiced, tool);
    most.queryCoverage = Math.max(most.queryCoverage, queryCoverage);
    most.nameCoverage = Math.max(most.nameCoverage, nameCoverage);
    most.named = Math.max(most.named, named);
  }
  return most;
}

/** Whether the meanings of a text and a tool could be compared. */
export function isCompared({ embedding }: Voiced, tool: Tool): boolean {
  // Vectors that are there are hardly ever at right angles to the last digit.
  return (embedding.features(tool)["cosine"] ?? 0) !== 0;
}
