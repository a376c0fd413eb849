/**
 * The contracts between plugins: services, of which there is one provider each, and drivers, of which there are many.
 *
 * @module
 */
import type { Adapters } from "./adapters.ts";
import type { ApprovalKind, Approvals } from "./approvals.ts";
import type { AuditSinkDriver } from "./audit.ts";
import type { Cache, CacheDriver } from "./cache.ts";
import type { Clients, ExposurePolicy } from "./clients.ts";
import type { TypeEmitter } from "./emitter.ts";
import type { Auth, Authenticator, Gauge, Readiness, Route, SessionHomes } from "./http.ts";
import type { Mode } from "./mode.ts";
import type { Notices } from "./notices.ts";
import type { Rates } from "./policy.ts";
import type { Registries } from "./registries.ts";
import type { PromptProvider, ResourceProvider } from "./resources.ts";
import type { Results } from "./results.ts";
import type { Rules } from "./rules.ts";
import type { EmbedderDriver, RankerDriver, Search } from "./search.ts";
import type { Servers, UpstreamDriver } from "./servers.ts";
import type { Source, Sources } from "./sources.ts";
import type { StateStore, StateStoreDriver } from "./state.ts";
import type { Telemetry } from "./telemetry.ts";

export type * from "./adapters.ts";
export type * from "./approvals.ts";
export { TOOL_CHANGED, TOOL_PENDING } from "./approvals.ts";
export type * from "./audit.ts";
export type * from "./cache.ts";
export type * from "./clients.ts";
export {
  CLIENT_CANNOT,
  CLIENT_FAILED,
  CLIENT_LEFT,
  CLIENT_SILENT,
  offerLogging,
  QUESTIONS_FULL,
} from "./clients.ts";
export { type Command, type CommandContext, type CommandTable, defineCommand } from "./command.ts";
export type * from "./emitter.ts";
export type * from "./http.ts";
export type * from "./mode.ts";
export type * from "./notices.ts";
export type * from "./policy.ts";
export { getPolicy, requestMeta } from "./policy.ts";
export type * from "./registries.ts";
export type * from "./resources.ts";
export { PROMPT_NOT_FOUND, RESOURCE_NOT_FOUND } from "./resources.ts";
export type * from "./results.ts";
export type * from "./rules.ts";
export type * from "./search.ts";
export type * from "./servers.ts";
export {
  CONNECT_FAILED,
  CONNECT_TIMEOUT,
  NEEDS_AUTH,
  RESPONSE_TOO_LARGE,
  UPSTREAM_CLOSED,
  UPSTREAM_ERROR,
  UPSTREAM_PROTOCOL,
} from "./servers.ts";
export type * from "./sources.ts";
export { firstFile, place, projectFile, readServers, userFile } from "./sources.ts";
export type * from "./state.ts";
export { STATE_UNAVAILABLE, STATE_VALUE_INVALID, updateState } from "./state.ts";
export type * from "./telemetry.ts";

/**
 * Services by name. A plugin of a third party adds its own:
 *
 * @example
 * ```ts
 * declare module "toolpipe/services" {
 *   interface Services {
 *     weather: { today(city: string): Promise<string> };
 *   }
 * }
 * ```
 */
export interface Services {
  adapters: Adapters;
  approvals: Approvals;
  auth: Auth;
  cache: Cache;
  clients: Clients;
  exposure: ExposurePolicy;
  mode: () => Mode;
  notices: Notices;
  rates: Rates;
  readiness: Readiness;
  registries: Registries;
  results: Results;
  rules: Rules;
  search: Search;
  servers: Servers;
  sessions: SessionHomes;
  sources: Sources;
  state: StateStore;
  telemetry: Telemetry;
}

/** Drivers by kind: a plugin registers any number of them by name, and a config can name one. */
export interface Drivers {
  upstream: UpstreamDriver;
  source: Source;
  ranker: RankerDriver;
  embedder: EmbedderDriver;
  emitter: TypeEmitter;
  stateStore: StateStoreDriver;
  cacheStorage: CacheDriver;
  auditSink: AuditSinkDriver;
  authenticator: Authenticator;
  approval: ApprovalKind;
  route: Route;
  resources: ResourceProvider;
  prompts: PromptProvider;
  gauge: Gauge;
}

/** The name of a service. */
export type ServiceName = keyof Services & string;

/** The kind of a driver. */
export type DriverKind = keyof Drivers & string;

/** A required service or, with a question mark after its name, an optional one. */
export type Use = ServiceName | `${ServiceName}?`;

/** The named services: required ones, and optional ones with a question mark. */
export type UsedServices<U extends Use> = {
  readonly [K in Extract<U, ServiceName>]: Services[K];
} & { readonly [K in ServiceName as `${K}?` extends U ? K : never]?: Services[K] };
