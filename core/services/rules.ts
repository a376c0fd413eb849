/** A rule that may not have the intended effect. */
export interface RuleReport {
  /** Position in the list, from 1. */
  readonly rule: number;
  readonly pattern: readonly string[];
  readonly server: string | undefined;
  /** Fault of the rule, as a sentence. */
  readonly reason: string;
}

/** Rules for tools. Provided by the plugin `rules`. */
export interface Rules {
  /** Lists the rules that match no tool in the current catalog, and no other request that is a call. */
  unmatched(): readonly RuleReport[];
  /** Lists the rules whose pattern alone shows that they do not work as they seem to. */
  doubts(): readonly RuleReport[];
  /** Returns whether the rules allow a tool, in the catalog or not. */
  allows(server: string, tool: string): boolean;
  /** Explains in sentences why the rules enable or disable a tool, in the catalog or not. */
  explain(server: string, tool: string): string;
}
