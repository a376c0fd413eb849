/**
 * The core of toolpipe: one pipeline that every call runs through, and the contracts of what plugs into it.
 *
 * @module
 */
export {
  type Actor,
  Call,
  type CallInput,
  type CallNotes,
  type CallRequest,
  handMeta,
  localUser,
  type Progress,
  type SettledCall,
  type Stage,
} from "./call.ts";
export { Cancellation, followSignal, getAbortReason } from "./cancellation.ts";
export type { Catalog, CatalogChange, RejectedTool } from "./catalog.ts";
export { type Config, type DiscoverySection, defineConfig } from "./config.ts";
export { parseData, readDataFile } from "./data-file.ts";
export {
  type CoreCode,
  defineError,
  type ErrorKind,
  errorKinds,
  GatewayError,
  type GatewayErrorOptions,
} from "./errors.ts";
export {
  type CloseOptions,
  createGateway,
  type Gateway,
  type GatewayOptions,
  type PluginGateway,
} from "./gateway.ts";
export type { HookLimits, HookName, Hooks, MaybePromise, Next } from "./hooks.ts";
export { argumentLimits, checkJson, isJsonObject, type JsonLimits } from "./json.ts";
export {
  findConfig,
  type LoadConfigOptions,
  type LoadedConfig,
  loadConfig,
  type SelectedConfig,
} from "./load-config.ts";
export type { PresetTable } from "./load-module.ts";
export { type LocalTool, type LocalTools, localTools } from "./local-tools.ts";
export { nearest } from "./nearest.ts";
export {
  definePlugin,
  type Plugin,
  type PluginDefinition,
  type PluginFactory,
  type PluginOrder,
} from "./plugin.ts";
export {
  definePreset,
  type Exposure,
  type FailedCall,
  type MetaTool,
  type MetaTools,
  type Preset,
} from "./preset.ts";
export {
  type Command,
  type CommandArg,
  type CommandArgs,
  type CommandContext,
  type CommandEntry,
  type CommandTable,
  type ConfigChoice,
  configArgs,
  defineCommand,
  type OpenOptions,
  type ParsedArgs,
} from "./services/command.ts";
export type { DriverKind, Drivers, ServiceName, Services, Use, UsedServices } from "./services/mod.ts";
export {
  type ContentBlock,
  createDisabledError,
  type JsonObject,
  type Server,
  type Tool,
  type ToolAnnotations,
  type ToolDefinition,
  type ToolResult,
  textResult,
} from "./tool.ts";
export { version } from "./version.ts";
