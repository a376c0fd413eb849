import * as v from "valibot";
import { definePlugin, type PluginFactory } from "../../core/mod.ts";
import { serveDashboard } from "./serving.ts";
import { createWatching } from "./watching.ts";

/** The options of {@link dashboard}. */
export interface DashboardOptions {
  /** What a caller's token must have, where callers need one; `admin` by default. */
  readonly scope?: string;
  /**
   * Whether what waits can be approved here where callers need no token; false by default. Whoever reaches the port
   * could then do so, and that may be an agent through one of its tools.
   */
  readonly decideWithoutTokens?: boolean;
  /** How many calls that are over can be looked at; 1,000 by default. */
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
 * A page at `/` where the gateway is served over HTTP: servers and how they stand, calls under way and the last ones,
 * how long they take and how many fail, the tokens saved, and what waits for a person to approve it.
 */
export const dashboard: PluginFactory<
  "dashboard",
  DashboardOptions,
  Required<DashboardOptions>
> = definePlugin({
  name: "dashboard",
  // First, so that it sees every call begin.
  order: "pre",
  options: options as v.GenericSchema<DashboardOptions, Required<DashboardOptions>>,
  setup(gateway, { scope, decideWithoutTokens, keep }) {
    const watching = createWatching(keep);
    serveDashboard({ gateway, watching, scope, decideWithoutTokens });
    return { resolve: watching.begin, audit: watching.end };
  },
});
