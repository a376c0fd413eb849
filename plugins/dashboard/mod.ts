import * as v from "valibot";
import { definePlugin } from "../../core/mod.ts";
import { option } from "../lib/options.ts";
import { createCallHistory } from "./call-history.ts";
import { registerDashboard } from "./routes.ts";

const options = v.strictObject({
  scope: option(
    v.pipe(v.string(), v.minLength(1, "a text")),
    "Scope that a caller needs if authentication is configured.",
    "admin",
  ),
  decideWithoutTokens: option(
    v.boolean(),
    "Whether approvals can be decided on the page without authentication. Everyone who reaches the port can then decide, including an agent through one of its tools.",
    false,
  ),
  keep: option(
    v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(100_000, "a whole number up to 100,000")),
    "Number of finished calls kept in memory.",
    1_000,
  ),
});

/** Options of {@link dashboard}. */
export type DashboardOptions = v.InferInput<typeof options>;

/**
 * Serves a page at `/` with the status of servers, running and finished calls, latency and errors, saved tokens, and
 * pending approvals.
 */
export const dashboard = definePlugin({
  name: "dashboard",
  uses: ["auth?", "approvals?", "servers?", "exposure?"],
  // First, so that it sees every call begin.
  order: "pre",
  options,
  setup(gateway, { scope, decideWithoutTokens, keep }) {
    const history = createCallHistory(keep);
    registerDashboard({ gateway, history, scope, decideWithoutTokens });
    return { resolve: history.begin, audit: history.end };
  },
});
