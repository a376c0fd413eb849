import { compileProgram } from "../../support/compile-program.ts";
import { folderForAll } from "../shared.ts";

const rule = "{ pattern: string[]; server?: string; enabled?: boolean; tags?: string[] }";
const parameter = "{ name: string; type: string; description: string; required: boolean }";
const serverConfig = "{ command: string; args: string[]; env?: Record<string, string> }";
const search = "{ server?: string; limit?: number; includeDisabled?: boolean }";
const failure = "{ code: string; message: string; server: string; tool: string }";
const outcome = `{ success: boolean; result?: any; error?: ${failure} }`;
const tool = `{ server: string; name: string; summary: string; description?: string; parameters?: ${parameter}[]; examples?: ours.ToolExample[]; enabled: boolean; tags: string[] }`;
const hit = "{ server: string; tool: string; summary: string; relevance: number; tags: string[] }";
const server = `{ name: string; description: string; toolCount: number; enabledCount: number; status: "connected" | "disconnected" | "error"; config: ${serverConfig} }`;
const cache = "{ enabled: boolean; ttl: number }";
const config = `{ enabled: boolean; cache?: ${cache}; sources?: ours.ConfigSource[]; toolRules?: ${rule}[] }`;

/** Fields of the specification's values, by the name under which a value with them is exchanged. */
const values = {
  CacheConfig: cache,
  DiscoveryConfig: config,
  ExecutionError: failure,
  ExecutionResult: outcome,
  MCPServerConfig: serverConfig,
  SearchOptions: search,
  SearchResult: hit,
  ServerMetadata: server,
  ToolMetadata: tool,
  ToolParameter: parameter,
  ToolRule: rule,
} as const;

/** Methods of the specification's classes, and types of its functions. */
const methods = {
  ConfigurationLoader: `{ load(configPath?: string): Promise<${config}>; validate(config: ${config}): ours.ValidationResult }`,
  PatternMatcher: `{ match(name: string, patterns: string[]): boolean; matchWithServer(name: string, server: string, rule: ${rule}): boolean }`,
  ToolMetadataManager: `{ addTool(tool: ${tool}): void; applyRules(rules: ${rule}[]): void; getToolsByServer(server: string, includeDisabled?: boolean): ${tool}[]; getTool(server: string, tool: string): ${tool} | null; getAllTools(includeDisabled?: boolean): ${tool}[]; getToolCount(server: string): number; getEnabledCount(server: string): number }`,
  SearchEngine: `{ index(tools: ${tool}[]): void; search(query: string, options?: ${search}): ${hit}[] }`,
  CachingLayer: `{ cacheServerList(servers: ${server}[], ttl: number): void; getServerList(): ${server}[] | null; cacheToolSummaries(server: string, tools: ${tool}[], ttl: number): void; getToolSummaries(server: string): ${tool}[] | null; cacheToolDetails(server: string, tool: string, details: ${tool}): void; getToolDetails(server: string, tool: string): ${tool} | null; invalidate(key?: string): void; invalidateAll(): void }`,
  ToolExecutionProxy: `{ execute(server: string, tool: string, args: any): Promise<${outcome}>; connect(server: string, config: ${serverConfig}): Promise<void>; disconnect(server: string): Promise<void>; isConnected(server: string): boolean; executeStream(server: string, tool: string, args: any): AsyncIterator<any> }`,
  DiscoveryEngine: `{ listServers(): Promise<${server}[]>; searchTools(query: string, options?: ${search}): Promise<${hit}[]>; listTools(server: string, includeDisabled?: boolean): Promise<${tool}[]>; getToolDetails(server: string, tool: string): Promise<${tool} | null>; executeTool(server: string, tool: string, args: any): Promise<${outcome}>; reload(): Promise<void>; getConfig(): ${config} }`,
  DiscoveryError: "Error & { code: string; details?: any }",
  ConfigurationError: "ours.DiscoveryError",
  ServerConnectionError: "ours.DiscoveryError & { server: string }",
  ToolExecutionError: "ours.DiscoveryError & { server: string; tool: string }",
  ToolNotFoundError: "ours.DiscoveryError & { server: string; tool: string }",
  ValidationError: "ours.DiscoveryError",
  matchPattern: "(name: string, patterns: string[]) => boolean",
  matchSinglePattern: "(name: string, pattern: string) => boolean",
  calculateRelevance: `(tool: ${tool}, query: string) => number`,
  applyToolRules: `(tools: ${tool}[], rules: ${rule}[]) => ${tool}[]`,
} as const;

/** A type that the specification declares. */
export type DeclaredType = keyof typeof values | keyof typeof methods;

/** One line a type, so that a complaint of the compiler names the type by its line. */
const checks: readonly (readonly [name: string, text: string])[] = [
  ...Object.entries(values).map(([name, fields]) => [name, `Exchanged<ours.${name}, ${fields}>`] as const),
  ...Object.entries(methods).map(([name, type]) => {
    const own = /^[a-z]/.test(name) ? `typeof ours.${name}` : `ours.${name}`;
    return [name, `Offers<${own}, ${type}>`] as const;
  }),
  ["constructor", "Offers<typeof ours.DiscoveryEngine, new (config: ours.DiscoveryConfig) => unknown>"],
];
const program = [
  // A value may be given either way: it has all fields, and needs no other. Required, since an optional field is easily left out.
  `type Exchanged<Ours, Stated> = Stated extends Ours ? (Required<Ours> extends Required<Stated> ? true : false) : false;`,
  `type Offers<Ours, Stated> = Ours extends Stated ? true : false;`,
  `import type * as ours from "toolpipe/anygpt";`,
  ...checks.map(([, text], index) => `export const check${index}: ${text} = true;`),
].join("\n");

let compiled: Promise<string> | undefined;

/** Starts to compile all types of the specification against the product's. Called in `beforeAll`, and not waited for. */
export async function startCompiler(): Promise<void> {
  const folder = await folderForAll();
  compiled = compileProgram(folder, program);
  compiled.catch(() => {});
}

/** Returns the compiler's complaints about types. */
export async function findTypeFaults(...names: readonly (DeclaredType | "constructor")[]): Promise<string[]> {
  const said = (await compiled)?.split("\n").filter((line) => line.includes("error")) ?? ["not compiled"];
  const lines = names.map((name) => 4 + checks.findIndex(([own]) => own === name));
  return said.filter((text) => {
    const at = Number(/program\.mts\((\d+),/.exec(text)?.[1]);
    // A complaint about anything else than a check concerns them all.
    return !(at >= 4) || lines.includes(at);
  });
}
