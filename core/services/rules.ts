/** A rule that may not do what it was written for. */
export interface RuleReport {
  /** Its place in the list, from 1. */
  readonly rule: number;
  readonly pattern: readonly string[];
  readonly server: string | undefined;
  /** What is wrong, in a sentence. */
  readonly reason: string;
}

/** The rules about tools. Provided by the plugin `rules`. */
export interface Rules {
  /** The rules that match neither a tool in the catalog as it is now nor another request that is a call. */
  unmatched(): readonly RuleReport[];
  /** The rules that, from their text alone, do not do what they seem to. */
  doubts(): readonly RuleReport[];
  /** Whether the rules leave a tool enabled; it need not be in the catalog. */
  allows(server: string, tool: string): boolean;
  /** Why a tool is enabled or disabled by the rules, in sentences; it need not be in the catalog. */
  explain(server: string, tool: string): string;
}
