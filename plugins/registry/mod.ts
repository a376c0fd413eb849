/**
 * Finds servers in MCP registries: a client of their API, a copy of them on this machine that can be searched without
 * a network, and what becomes of a server that is added.
 *
 * @module
 */

export type { RetryPolicy } from "../retry/backoff.ts";
export {
  createRegistryClient,
  type RegistryCache,
  type RegistryClient,
  type RegistryClientParts,
  type RegistryResult,
  type RegistrySearchOptions,
} from "./client.ts";
export type { RegistryEntry, RegistryStatus } from "./entry.ts";
export { REGISTRY_NOT_FOUND, REGISTRY_REFUSED, REGISTRY_UNAVAILABLE } from "./errors.ts";
export { type Given, type InstallOptions, type InstallPlan, planInstall } from "./install.ts";
export {
  createMirror,
  type Mirror,
  type MirrorContent,
  type MirrorParts,
  type SyncOptions,
  type SyncProgress,
  type SyncReport,
} from "./mirror.ts";
export { OFFICIAL_REGISTRY, type RegistryOptions } from "./options.ts";
export type { ListOptions, RegistryPage } from "./pages.ts";
export { type RegistryHit, type RegistryIndex, registryIndex } from "./rank.ts";
export type { RegistryParts } from "./request.ts";
