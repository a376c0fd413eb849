/** The steps of asking one server, in their order. */
export const discoverySteps = [
  "cache",
  "rate-limit",
  "session",
  "tools",
  "schemas",
  "outputs",
  "domains",
  "store",
  "registration",
  "termination",
] as const;

/** The name of a step. */
export type DiscoveryStepName = (typeof discoverySteps)[number];

/** A step that is over. */
export interface DiscoveryStep {
  /** The name of the server. */
  readonly server: string;
  readonly name: DiscoveryStepName;
  /** Its place among the steps, from 1. */
  readonly number: number;
  /** Which try it belongs to, from 1. */
  readonly attempt: number;
  /** `hit` where the answer was remembered, `skipped` where nobody asked for it. */
  readonly outcome: "done" | "hit" | "skipped" | "failed";
}

/** Makes what tells of the steps of one server. */
export function stepTeller(
  server: string,
  onStep: ((step: DiscoveryStep) => void) | undefined,
): (name: DiscoveryStepName, outcome?: DiscoveryStep["outcome"], attempt?: number) => void {
  return (name, outcome = "done", attempt = 1) =>
    onStep?.({ server, name, number: discoverySteps.indexOf(name) + 1, attempt, outcome });
}
