import * as v from "valibot";
import { definePlugin, type PluginFactory } from "../../core/mod.ts";
import { createCallHistory } from "./call-history.ts";
import { registerDashboard } from "./routes.ts";

/** Options of {@link dashboard}. */
export interface DashboardOptions {
  /** The scope that a caller needs if authentication is configured; `admin` by default. */
  readonly scope?: string;
  /**
   * Whether approvals are decided here without authentication; false by default. Everyone who reaches the port could
   * then decide, which may be an agent through one of its tools.
   */
  readonly decideWithoutTokens?: boolean;
  /** Finished calls that are kept; 1,000 by default. */
  readonly keep?: number;
}

const options = v.strictObject({
  scope: v.optional(v.pipe(v.string(), v.minLength(1, "a text")), "admin"),
  decideWithoutTokens: v.optional(v.boolean(), false),
  keep: v.optional(
    v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(100_000, "a whole number up to 100,000")),
    1_000,
  ),
});

/**
 * Serves a page at `/` with the status of servers, running and finished calls, latency and errors, saved tokens, and
 * pending approvals.
 */
export const dashboard: PluginFactory<
  "dashboard",
  DashboardOptions,
  Required<DashboardOptions>
> = definePlugin({
  name: "dashboard",
  uses: ["auth?", "approvals?", "servers?", "exposure?"],
  // First, so that it sees every call begin.
  order: "pre",
  options: options as v.GenericSchema<DashboardOptions, Required<DashboardOptions>>,
  setup(gateway, { scope, decideWithoutTokens, keep }) {
    const history = createCallHistory(keep);
    registerDashboard({ gateway, history, scope, decideWithoutTokens });
    return { resolve: history.begin, audit: history.end };
  },
});
