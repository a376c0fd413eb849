import type { Gateway, Tool } from "../../core/mod.ts";
import { getPolicy, riskLevels } from "../../core/services/policy.ts";
import { getCategory, getOperationIds } from "./operations.ts";

const MAX_CAPABILITIES = 6;
const MAX_OPERATIONS = 5;

/** Facts about an adapter that its operations tell. */
interface DerivedFacts {
  readonly capabilities: readonly string[];
  readonly common: readonly Tool[];
}

/** By list of tools: the catalog never changes a list, it replaces it. */
const known = new WeakMap<readonly Tool[], DerivedFacts>();

/** Derives the capabilities of an adapter without an overlay: the tags and categories that most of its operations have. */
export function deriveCapabilities({ catalog }: Gateway, server: string): readonly string[] {
  return derive(catalog.tools(server)).capabilities;
}

/** Derives the common operations of an adapter without an overlay: the plainest one of each of its main categories. */
export function deriveCommonOperations(gateway: Gateway, server: string): readonly string[] {
  const { getId } = getOperationIds(gateway);
  return derive(gateway.catalog.tools(server)).common.flatMap((tool) => (tool.enabled ? [getId(tool)] : []));
}

function derive(tools: readonly Tool[]): DerivedFacts {
  const before = known.get(tools);
  if (before) return before;
  const enabled = tools.filter((tool) => tool.enabled);
  const uses = new Map<string, number>();
  const byCategory = new Map<string, Tool[]>();
  for (const tool of enabled) {
    const category = getCategory(tool);
    for (const word of new Set([category, ...tool.tags].map(toCapability))) {
      if (word !== "" && word !== "general") uses.set(word, (uses.get(word) ?? 0) + 1);
    }
    byCategory.set(category, [...(byCategory.get(category) ?? []), tool]);
  }
  const main = [...byCategory.values()].sort((a, b) => b.length - a.length).slice(0, MAX_OPERATIONS);
  const first = main.flatMap((group) => findPlainest(group) ?? []);
  // Where there are fewer categories than places, the next plain ones follow.
  const others = enabled.filter((tool) => !first.includes(tool));
  const facts = {
    capabilities: [...uses]
      .sort(([, a], [, b]) => b - a)
      .slice(0, MAX_CAPABILITIES)
      .map(([word]) => word),
    common: fill(first, others),
  };
  known.set(tools, facts);
  return facts;
}

function fill(first: readonly Tool[], others: readonly Tool[]): Tool[] {
  const common = [...first];
  const left = [...others];
  while (common.length < MAX_OPERATIONS) {
    const next = findPlainest(left);
    if (!next) break;
    left.splice(left.indexOf(next), 1);
    common.push(next);
  }
  return common;
}

/**
 * Finds the operation with the shortest path, of several the first of the lowest risk; none that is deprecated or
 * destroys something.
 */
function findPlainest(tools: readonly Tool[]): Tool | undefined {
  const usable = tools.filter(
    (tool) => tool.operation?.deprecated !== true && getPolicy(tool).riskLevel !== "destructive",
  );
  // Fewer than ten levels of risk, so that they decide between paths of one length only.
  const rate = (tool: Tool): number =>
    (tool.operation?.path.split("/").length ?? 0) * 10 + riskLevels.indexOf(getPolicy(tool).riskLevel);
  return usable.reduce<Tool | undefined>(
    (best, tool) => (best === undefined || rate(tool) < rate(best) ? tool : best),
    undefined,
  );
}

function toCapability(tag: string): string {
  return tag
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, "_")
    .replace(/^_|_$/g, "");
}
