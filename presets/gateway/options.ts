import * as v from "valibot";
import { GatewayError } from "../../core/mod.ts";
import type { Overlay } from "../../core/services/adapters.ts";
import { openapiOptions } from "../../plugins/openapi/mod.ts";

/** Whether an agent sees the five tools, or every operation itself. */
export type ToolMode = "lazy" | "full";

/** What stands between the two words of a tool's name: some clients take no dots. */
export type ToolNameStyle = "dot" | "hyphen" | "underscore";

/** The options of the plugin `discovery`. The variables of the environment go before them. */
export interface DiscoveryOptions {
  /** The five tools, or every operation as a tool, which is for debugging; `MCP_TOOL_MODE`, and `lazy` by default. */
  readonly mode?: ToolMode;
  /** How the five tools are called; `dot` by default, as in `gateway.intent`. All three are understood. */
  readonly toolNames?: ToolNameStyle;
  /** Below this nothing is recommended, and the agent is asked to choose; `MCP_SEARCH_MIN_CONFIDENCE`, 0.5 by default. */
  readonly minConfidence?: number;
  /** How many alternatives are named; `MCP_DEFAULT_LIMIT`, 3 by default. */
  readonly defaultLimit?: number;
  /** How a task is matched: by names, tags and words alone, or as the plugin `search` does; `intent` by default. */
  readonly ranking?: "intent" | "search";
  /** Whether an id that is not registered is tried all the same; false by default. */
  readonly debug?: boolean;
  /** How long the first search waits for servers that were never asked for their tools; 3,000 by default. */
  readonly waitMs?: number;
  /** What is known of adapters, MCP servers among them, by their id. */
  readonly overlays?: Readonly<Record<string, Overlay>>;
}

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

/** Checks the options and holds their defaults. */
export const discoveryOptions: v.GenericSchema<DiscoveryOptions, Required<DiscoveryOptions>> = v.strictObject(
  {
    mode: v.optional(mode, "lazy"),
    toolNames: v.optional(v.picklist(["dot", "hyphen", "underscore"]), "dot"),
    minConfidence: v.optional(share, 0.5),
    defaultLimit: v.optional(limit, 3),
    ranking: v.optional(v.picklist(["intent", "search"]), "intent"),
    debug: v.optional(v.boolean(), false),
    waitMs: v.optional(v.pipe(v.number(), v.minValue(0, "a number of milliseconds, 0 or more")), 3000),
    overlays: v.optional(
      v.custom<Readonly<Record<string, Overlay>>>(
        (value) => v.is(openapiOptions, { overlays: value }),
        "overlays by the id of their adapter",
      ),
      {},
    ),
  },
) as unknown as v.GenericSchema<DiscoveryOptions, Required<DiscoveryOptions>>;

/** What holds where the plugin is not there. */
export const defaultDiscovery: Required<DiscoveryOptions> = v.parse(discoveryOptions, {});

/**
 * The options with what the environment says in their place. It goes before the config, because it is what a person
 * sets for one start: `MCP_TOOL_MODE=full toolpipe serve`.
 */
export function withEnvironment(
  options: Required<DiscoveryOptions>,
  env: Readonly<Record<string, string | undefined>> = process.env,
): Required<DiscoveryOptions> {
  return {
    ...options,
    mode: read(env, "MCP_TOOL_MODE", mode) ?? options.mode,
    minConfidence: read(env, "MCP_SEARCH_MIN_CONFIDENCE", share) ?? options.minConfidence,
    defaultLimit: read(env, "MCP_DEFAULT_LIMIT", limit) ?? options.defaultLimit,
  };
}

function read<T>(
  env: Readonly<Record<string, string | undefined>>,
  name: string,
  schema: v.GenericSchema<unknown, T>,
): T | undefined {
  const text = env[name]?.trim();
  // Whoever sets a variable to nothing has taken it back.
  if (text === undefined || text === "") return undefined;
  const number = Number(text);
  const parsed = v.safeParse(schema, Number.isNaN(number) ? text : number);
  if (parsed.success) return parsed.output;
  throw new GatewayError(
    "CONFIG_INVALID",
    `The variable ${name} is wrong: expected ${expectedOf(parsed.issues[0])}.`,
  );
}

function expectedOf(issue: v.BaseIssue<unknown>): string {
  return issue.kind === "validation" ? issue.message : (issue.expected ?? "another value");
}
