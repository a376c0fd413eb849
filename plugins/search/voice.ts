import type { MaybePromise, Tool } from "../../core/mod.ts";
import type { Keeping } from "./keeping/keeping.ts";
import type { MatchedTerm } from "./ranker.ts";

/** One voice of a fusion: scores on a scale of its own, which only the fusion turns into a relevance. */
export interface Voice {
  readonly name: string;
  /** Takes in the tools of one server in place of those it had; none of them removes it. */
  update(server: string, tools: readonly Tool[]): void;
  /** Reads a query once, for everything that is then asked of it. */
  ask(query: string): MaybePromise<Asked>;
  /** What it has read, where that is worth being kept from one start to the next. */
  readonly keeping?: Keeping | undefined;
}

/** What a voice has to say about one query. */
export interface Asked {
  /** The tools that score best, best first, and of equals the lower id; only of one server where it is given. */
  best(count: number, server?: string): readonly Scored[];
  /** What a tool scores; 0 where it has nothing of the query, or is not known. */
  score(tool: Tool): number;
  /** What else is known of how well a tool fits. The names are the same for every tool and query. */
  features(tool: Tool): Readonly<Record<string, number>>;
  /** The words of the query that were found in a tool. */
  terms(tool: Tool): readonly MatchedTerm[];
}

/** A tool and its score. */
export interface Scored {
  readonly tool: Tool;
  readonly score: number;
}

/** A voice that answers at once. */
export interface PromptVoice extends Voice {
  ask(query: string): Asked;
}
