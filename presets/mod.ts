/**
 * The presets by name, each loaded when it is chosen.
 *
 * @module
 */
import type { PresetTable } from "../core/mod.ts";
import type { AuditOptions } from "../plugins/audit/mod.ts";
import type { AuthOptions } from "../plugins/auth/mod.ts";
import type { CacheOptions } from "../plugins/cache/mod.ts";
import type { DashboardOptions } from "../plugins/dashboard/mod.ts";
import type { GuardOptions } from "../plugins/guard/options.ts";
import type { RatesOptions } from "../plugins/guard/rates.ts";
import type { MetricsOptions } from "../plugins/metrics/mod.ts";
import type { OverloadOptions } from "../plugins/overload.ts";
import type { RelayOptions } from "../plugins/relay/mod.ts";
import type { ResultsOptions } from "../plugins/results/mod.ts";
import type { RetryOptions } from "../plugins/retry/mod.ts";
import type { RulesOptions } from "../plugins/rules/mod.ts";
import type { SearchOptions } from "../plugins/search/mod.ts";
import type { SourcesOptions } from "../plugins/sources/mod.ts";
import type { StateOptions } from "../plugins/state/mod.ts";
import type { TimeoutOptions } from "../plugins/timeout.ts";
import type { UpstreamsOptions } from "../plugins/upstreams/mod.ts";
import type { OpenApiOptions } from "../plugins/upstreams/openapi/options.ts";
import type { AnswersOptions } from "./_anygpt/options.ts";
import type { ExposureOptions } from "./_exposure.ts";
import type { DiscoveryOptions } from "./_gateway/options.ts";
import type { RegistryOptions } from "./_gateway/registry-plugin.ts";

/** The name of a preset. */
export type PresetName = "anygpt" | "gateway" | "passthrough";

/** The options of the plugins that presets bring, by plugin name. */
export interface BuiltinOptions {
  readonly answers?: AnswersOptions;
  readonly audit?: AuditOptions;
  readonly auth?: AuthOptions;
  readonly cache?: CacheOptions;
  readonly dashboard?: DashboardOptions;
  readonly discovery?: DiscoveryOptions;
  readonly exposure?: ExposureOptions;
  readonly guard?: GuardOptions;
  readonly metrics?: MetricsOptions;
  readonly openapi?: OpenApiOptions;
  readonly overload?: OverloadOptions;
  readonly rates?: RatesOptions;
  readonly registry?: RegistryOptions;
  readonly relay?: RelayOptions;
  readonly results?: ResultsOptions;
  readonly retry?: RetryOptions;
  readonly rules?: RulesOptions;
  readonly search?: SearchOptions;
  readonly sources?: SourcesOptions;
  readonly state?: StateOptions;
  readonly timeout?: TimeoutOptions;
  readonly upstreams?: UpstreamsOptions;
}

/** The options that people write most, at the top of a config; each belongs to a plugin. */
export interface BuiltinKeys
  extends Pick<SourcesOptions, "servers" | "mcpServers" | "sources">,
    Pick<RulesOptions, "toolRules">,
    Pick<OpenApiOptions, "adapters">,
    Pick<ExposureOptions, "expose"> {
  readonly auth?: AuthOptions;
  readonly cache?: CacheOptions;
  readonly discovery?: DiscoveryOptions;
  readonly guard?: GuardOptions;
  readonly overload?: OverloadOptions;
  readonly registry?: RegistryOptions;
}

/** What `loadConfig` and the commands look names up in. */
export const presets: PresetTable & Readonly<Record<PresetName, unknown>> = {
  anygpt: async () => (await import("./anygpt.ts")).anygpt,
  gateway: async () => (await import("./gateway.ts")).gateway,
  passthrough: async () => (await import("./passthrough.ts")).passthrough,
};
