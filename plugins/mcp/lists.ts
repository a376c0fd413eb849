import { isJsonObject, type JsonObject, type RejectedTool, type ToolDefinition } from "../../core/mod.ts";
import type { Listing } from "../../core/services/servers.ts";
import { findJsonFault } from "../lib/json.ts";
import { wasAnswered } from "./errors.ts";

/** Reads one page of a list; without a cursor, the first. */
type ReadPage = (method: string, params: JsonObject, timeoutMs: number) => Promise<JsonObject>;

const MAX_PAGES = 1_000;
const MAX_ITEMS = 100_000;
/** Prompts and resources are not needed to call a tool, so they must not delay it. */
const EXTRAS_MS = 5_000;

/** The capabilities that a server declares: only the keys matter. */
export type Capabilities = Readonly<Record<string, unknown>>;

interface ReadListsOptions {
  readonly read: ReadPage;
  readonly capabilities: Capabilities;
  readonly timeoutMs: number;
  /** Milliseconds that requests have waited for their turn, which do not count. */
  readonly waitedMs: () => number;
}

/** Reads the tools and, if the server declares them, resources and prompts. Only a failure of the tools is reported. */
export async function readLists({
  read: readOne,
  capabilities,
  timeoutMs,
  waitedMs,
}: ReadListsOptions): Promise<Listing> {
  const read: ReadAll = (method, key, ms) => readAll({ read: readOne, method, key, timeoutMs: ms, waitedMs });
  const extrasMs = Math.min(EXTRAS_MS, timeoutMs);
  const extra = (capability: string, method: string, key: string): Promise<JsonObject[]> =>
    capabilities[capability]
      ? read(method, key, extrasMs).then(
          ({ items }) => items.filter((item) => isJsonObject(item) && !findJsonFault(item)) as JsonObject[],
          () => [],
        )
      : Promise.resolve([]);
  const [tools, resources, resourceTemplates, prompts] = await Promise.all([
    readTools(read, capabilities["tools"] !== undefined, timeoutMs),
    extra("resources", "resources/list", "resources"),
    extra("resources", "resources/templates/list", "resourceTemplates"),
    extra("prompts", "prompts/list", "prompts"),
  ]);
  return { ...tools, resources, resourceTemplates, prompts };
}

type ReadAll = (method: string, key: string, timeoutMs: number) => ReturnType<typeof readAll>;

async function readTools(
  read: ReadAll,
  declared: boolean,
  timeoutMs: number,
): Promise<Pick<Listing, "tools" | "rejected" | "repaired">> {
  try {
    const { items, cut } = await read(
      "tools/list",
      "tools",
      declared ? timeoutMs : Math.min(EXTRAS_MS, timeoutMs),
    );
    const { tools, rejected, repaired } = checkTools(items);
    if (cut) rejected.push({ name: "(more)", reason: `the server's list is longer than ${cut}` });
    return { tools, rejected, ...(repaired.length > 0 && { repaired }) };
  } catch (thrown) {
    // Some servers have tools and do not declare them; one that declares them must have them.
    if (!declared && wasAnswered(thrown)) return { tools: [], rejected: [] };
    throw thrown;
  }
}

/** Reads the pages of a list until the last one, a repeated cursor, or the limit. */
async function readAll({
  read,
  method,
  key,
  timeoutMs,
  waitedMs,
}: Pick<ReadListsOptions, "read" | "timeoutMs" | "waitedMs"> & {
  readonly method: string;
  readonly key: string;
}): Promise<{ items: unknown[]; cut?: string }> {
  const elapsed = (): number => performance.now() - waitedMs();
  const deadline = elapsed() + timeoutMs;
  const seen = new Set<string>();
  const items: unknown[] = [];
  let params: JsonObject = {};
  for (let page = 0; page < MAX_PAGES; page++) {
    const result = await read(method, params, Math.max(1, deadline - elapsed()));
    const found = result[key];
    if (Array.isArray(found)) for (const item of found) items.push(item);
    const cursor = result["nextCursor"];
    if (typeof cursor !== "string" || seen.has(cursor)) return { items };
    if (items.length > MAX_ITEMS) return { items, cut: `${MAX_ITEMS} entries` };
    seen.add(cursor);
    params = { cursor };
  }
  return { items, cut: `${MAX_PAGES} pages` };
}

/** Checks tools one by one: a bad one is rejected by name, and does not cost the others. */
function checkTools(items: readonly unknown[]): {
  tools: ToolDefinition[];
  rejected: RejectedTool[];
  repaired: ToolDefinition[];
} {
  const tools: ToolDefinition[] = [];
  const rejected: RejectedTool[] = [];
  const repaired: ToolDefinition[] = [];
  const known = new Map<unknown, string>();
  for (const item of items) {
    const fault = findToolFault(item);
    if (fault !== undefined) {
      rejected.push({ name: getName(item), reason: fault });
      const tool = isJsonObject(item) ? { ...item, inputSchema: { type: "object" } } : undefined;
      if (tool && findToolFault(tool) === undefined) repaired.push(cleanTool(tool));
      continue;
    }
    const tool = cleanTool(item as JsonObject);
    const json = JSON.stringify(tool);
    // A server whose pages overlap lists the same tool twice. A different tool of that name is kept.
    if (known.get(tool.name) === json) continue;
    known.set(tool.name, json);
    tools.push(tool);
  }
  return { tools, rejected, repaired };
}

function findToolFault(item: unknown): string | undefined {
  if (!isJsonObject(item)) return "it is not an object";
  const { name, inputSchema, description } = item;
  if (typeof name !== "string" || name === "") return "it has no name";
  if (!isJsonObject(inputSchema)) return "its inputSchema is not an object";
  if (typeof (description ?? "") !== "string") return "its description is not a string";
  const fault = findJsonFault(item);
  if (fault)
    return fault.code === "FORBIDDEN_KEY" ? "it holds a key that is not allowed" : "it is nested too deep";
  return undefined;
}

function getName(item: unknown): string {
  const name = isJsonObject(item) ? item["name"] : undefined;
  return typeof name === "string" ? name : "";
}

/** Removes fields of the wrong type, and the `null` that some servers write for an absent field. */
function cleanTool(item: JsonObject): ToolDefinition {
  const result = { ...item };
  for (const key of ["title", "description"]) if (typeof result[key] !== "string") delete result[key];
  for (const key of ["outputSchema", "annotations"]) if (!isJsonObject(result[key])) delete result[key];
  return result as unknown as ToolDefinition;
}
