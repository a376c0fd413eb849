import * as v from "valibot";
import { type Catalog, type Gateway, GatewayError } from "../../core/mod.ts";
import type { Search } from "../../core/services/search.ts";
import { option } from "../../plugins/lib/options.ts";
import { overlaysSchema } from "../../plugins/lib/overlay.ts";

type Environment = Readonly<Record<string, string | undefined>>;

const share = v.pipe(
  v.number(),
  v.minValue(0, "a number between 0 and 1"),
  v.maxValue(1, "a number between 0 and 1"),
);
const limit = v.pipe(
  v.number(),
  v.integer(),
  v.minValue(1, "a whole number between 1 and 50"),
  v.maxValue(50, "a whole number between 1 and 50"),
);
const mode = v.picklist(["lazy", "full"]);

/** Schema of the options of the plugin `discovery`. Environment variables go before them. */
export const discoveryOptions = v.strictObject({
  mode: option(
    mode,
    "Whether an agent sees the five tools (`lazy`) or every operation (`full`, for debugging). `MCP_TOOL_MODE` overrides it.",
    "lazy",
  ),
  toolNames: option(
    v.picklist(["dot", "hyphen", "underscore"]),
    "Separator in the names of the five tools, as in `gateway.intent`: some clients take no dots. All three are understood.",
    "dot",
  ),
  minConfidence: option(
    share,
    "Confidence below which nothing is recommended and the agent is asked to choose. `MCP_SEARCH_MIN_CONFIDENCE` overrides it.",
    0.5,
  ),
  defaultLimit: option(limit, "Number of alternatives. `MCP_DEFAULT_LIMIT` overrides it.", 3),
  ranking: option(
    v.picklist(["intent", "search"]),
    "How a task is matched: by names, tags and words alone, or by the plugin `search`.",
    "intent",
  ),
  debug: option(v.boolean(), "Whether a tool_id that is not registered is tried all the same.", false),
  waitMs: option(
    v.pipe(v.number(), v.minValue(0, "a number of milliseconds, 0 or more")),
    "Milliseconds that the first search waits for servers that were never asked for their tools.",
    3000,
  ),
  overlays: option(overlaysSchema, "Facts about adapters, MCP servers among them, by adapter id.", {}),
});

/** Options of the plugin `discovery` of the preset `gateway`. */
export type OperationDiscoveryOptions = v.InferInput<typeof discoveryOptions>;
type Settings = v.InferOutput<typeof discoveryOptions>;

/** State of the plugin `discovery` that the five tools read. */
interface OperationDiscovery {
  readonly settings: Settings;
  /** Searches operations by the ranking that the options name. */
  readonly search: Search;
  /** Whether an operation has this word in its name, title, tags or description. */
  readonly isWord: (word: string) => boolean;
}

const defaults: Settings = v.parse(discoveryOptions, {});
/** By catalog: each plugin sees the gateway through an object of its own. */
const byCatalog = new WeakMap<Catalog, OperationDiscovery>();

/** Sets the state of the plugin `discovery` of a gateway. */
export function setDiscovery({ catalog }: Pick<Gateway, "catalog">, discovery: OperationDiscovery): void {
  byCatalog.set(catalog, discovery);
}

/** Returns the state of the plugin `discovery`, if a gateway has it. */
export function getDiscovery({ catalog }: Pick<Gateway, "catalog">): OperationDiscovery | undefined {
  return byCatalog.get(catalog);
}

/** Returns the options of the plugin `discovery`, or its defaults. */
export function getSettings(gateway: Pick<Gateway, "catalog">): Settings {
  return getDiscovery(gateway)?.settings ?? defaults;
}

const OWN_TOOL = /\bgateway[._-](intent|execute|adapters|tools|reference)\b/g;
const separators = { dot: ".", hyphen: "-", underscore: "_" };

/** Spells the names of the five tools in a sentence as this gateway does. */
export function spellToolNames(gateway: Gateway, sentence: string): string {
  const { toolNames } = getSettings(gateway);
  return toolNames === "dot" ? sentence : sentence.replace(OWN_TOOL, `gateway${separators[toolNames]}$1`);
}

/**
 * Overrides options by environment variables. They go before the config, since a person sets them for one start:
 * `MCP_TOOL_MODE=full toolpipe serve`.
 */
export function applyEnvironment(settings: Settings, env: Environment = process.env): Settings {
  return {
    ...settings,
    mode: readVariable(env, "MCP_TOOL_MODE", mode) ?? settings.mode,
    minConfidence: readVariable(env, "MCP_SEARCH_MIN_CONFIDENCE", share) ?? settings.minConfidence,
    defaultLimit: readVariable(env, "MCP_DEFAULT_LIMIT", limit) ?? settings.defaultLimit,
  };
}

function readVariable<T>(env: Environment, name: string, schema: v.GenericSchema<unknown, T>): T | undefined {
  const value = env[name]?.trim();
  if (value === undefined || value === "") return undefined;
  const number = Number(value);
  const parsed = v.safeParse(schema, Number.isNaN(number) ? value : number);
  if (parsed.success) return parsed.output;
  const [issue] = parsed.issues;
  const expected = issue.kind === "validation" ? issue.message : (issue.expected ?? "another value");
  throw new GatewayError("CONFIG_INVALID", `The variable ${name} is wrong: expected ${expected}.`);
}
