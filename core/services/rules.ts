/** Fault of a rule: no effect by its fields, no tool, another rule before it, a server left empty, `\b` beside `_`. */
export type RuleFault = "no-effect" | "unmatched" | "shadowed" | "empty-server" | "word-boundary";

/** A rule that may not have the intended effect. */
export interface RuleReport {
  /** Position in the list, from 1. */
  readonly rule: number;
  readonly pattern: readonly string[];
  readonly server: string | undefined;
  readonly fault: RuleFault;
  /** Fault of the rule in sentences, with what would work. */
  readonly reason: string;
}

/** Rules for tools. Provided by the plugin `rules`. */
export interface Rules {
  /**
   * Lists the rules that may not have the intended effect on the tools of the current catalog, and on other requests
   * that are calls. Servers whose tools are not known yet are left out.
   */
  diagnose(): Promise<readonly RuleReport[]>;
  /** Returns whether the rules allow a tool, in the catalog or not. */
  allows(server: string, tool: string): boolean;
  /** Explains in sentences why the rules enable or disable a tool, in the catalog or not. */
  explain(server: string, tool: string): string;
}

/** Formats a report as one line. */
export function formatRuleReport({ rule, pattern, reason }: RuleReport): string {
  return `Rule ${rule} (${pattern.join(", ")}): ${reason}`;
}
