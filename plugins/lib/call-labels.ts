import type { SettledCall } from "../../core/mod.ts";

/** How a call went, as everything that counts calls tells it. */
export interface CallLabels {
  readonly server: string;
  /** `ok`, `tool_error` where the tool itself reported a failure, or the code of the error. */
  readonly outcome: string;
  readonly stage: string;
  /** Who answered in place of the tool, in a word; empty where it did itself. */
  readonly via: string;
}

/** What a caller wrote is in none of them: whoever calls tools that are not there must not fill the memory with names. */
export function getCallLabels(call: SettledCall): CallLabels {
  return {
    server: call.tool?.server ?? "",
    outcome: call.ok ? (call.result.isError ? "tool_error" : "ok") : call.error.code,
    stage: call.stage,
    via: call.via ?? "",
  };
}
