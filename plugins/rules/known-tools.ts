import { type Gateway, isJsonObject, type Tool } from "../../core/mod.ts";
import type { ServerStatus, UpstreamMethod } from "../../core/services/servers.ts";
import { inferPolicy } from "../lib/risk.ts";

/** A tool as rules see it. */
export interface KnownTool {
  readonly server: string;
  readonly name: string;
}

/** The tools that rules are compared with. */
export interface KnownTools {
  readonly tools: readonly KnownTool[];
  readonly servers: readonly string[];
  /** Servers whose tools are not known: a rule may match one of them. */
  readonly unknown: ReadonlySet<string>;
  /** Whether a tool destroys something. */
  isDestructive(tool: KnownTool): boolean;
}

/** Lists the tools, and the requests besides tool calls, that rules are for. */
export function listKnownTools({ catalog, services }: Gateway): KnownTools {
  const statuses = services.servers?.statuses() ?? [];
  const own = catalog.tools().filter(({ builtin }) => !builtin);
  return {
    tools: [...own, ...listRequests(statuses)],
    servers: catalog.servers().map(({ id }) => id),
    unknown: new Set(
      statuses.flatMap(({ name, listedAt, config }) =>
        listedAt === undefined && !config.disabled ? [name] : [],
      ),
    ),
    isDestructive: (tool) => "id" in tool && inferPolicy(tool as Tool).riskLevel === "destructive",
  };
}

/** Lists the requests besides tool calls that servers take, by their declared capabilities. */
function listRequests(statuses: readonly ServerStatus[]): { server: string; name: UpstreamMethod }[] {
  return statuses.flatMap(({ name: server, info }) =>
    requests.flatMap(([capability, name]) =>
      isJsonObject(info?.capabilities?.[capability]) ? [{ server, name }] : [],
    ),
  );
}

const requests: readonly (readonly [capability: string, request: UpstreamMethod])[] = [
  ["resources", "resources/read"],
  ["prompts", "prompts/get"],
  ["completions", "completion/complete"],
];
