import {
  type CallRequest,
  errorKinds,
  type Gateway,
  GatewayError,
  nearest,
  type SettledCall,
  type ToolResult,
} from "../../core/mod.ts";
import {
  findServerError,
  hasServer,
  joinNames,
  listServerTools,
  serverNotFound,
} from "../../plugins/lib/servers.ts";
import { shorten } from "../../plugins/lib/text/shorten.ts";
import { splitWords } from "../../plugins/lib/text/words.ts";

const MAX_SUGGESTIONS = 3;

/** A tool and its arguments. */
export interface Target {
  readonly server: string;
  readonly tool: string;
  readonly args: unknown;
}

/**
 * Runs a tool and returns its result unchanged. Throws the error of the call, with the tools that exist or the
 * signature of this one.
 */
export async function runTarget(
  gateway: Gateway,
  target: Target,
  request: Omit<CallRequest, "tool" | "args"> = {},
): Promise<ToolResult> {
  const { server, tool, args } = target;
  const id = `${server}:${tool}`;
  // Another tool may have the same id: one of the gateway's own, which is called by its own name.
  const known = gateway.catalog.tool(id);
  if (known && (known.builtin || known.server !== server)) {
    throw await createToolNotFoundError(gateway, server, tool);
  }
  const call = await gateway.run({ ...request, tool: id, args });
  if (call.ok) return call.result;
  throw await explainError(gateway, call, target);
}

async function explainError(
  gateway: Gateway,
  call: SettledCall,
  { server, tool, args }: Target,
): Promise<GatewayError> {
  const error = call.error as GatewayError;
  if (call.stage === "resolve" && error.code === errorKinds.TOOL_NOT_FOUND.code)
    return createToolNotFoundError(gateway, server, tool);
  if (call.stage === "validate" && error.code === errorKinds.INVALID_ARGUMENTS.code && call.tool) {
    const { explainArgumentError } = await import("../shared/argument-error.ts");
    return explainArgumentError(error, call.tool, args);
  }
  return error;
}

/** Creates the error for a missing tool: why the server has none, or similar tools. Disabled tools are not named. */
export async function createToolNotFoundError(
  gateway: Gateway,
  server: string,
  tool: string,
): Promise<GatewayError> {
  const start = `There is no tool "${shorten(`${server}:${tool}`, 160)}".`;
  if (!hasServer(gateway, server)) return serverNotFound(gateway, server, `${start} `);
  const trouble = findServerError(gateway, server);
  if (trouble) return trouble;
  const names = listServerTools(gateway, server).flatMap(({ name, enabled }) => (enabled ? [name] : []));
  const suggestions = await suggestTools(gateway, server, tool, names);
  const hint = suggestions.length > 0 ? ` Did you mean ${suggestions.join(" or ")}?` : "";
  const all =
    names.length > 0 ? ` The tools of "${server}" are ${joinNames(names)}.` : explainEmpty(gateway, server);
  return new GatewayError("TOOL_NOT_FOUND", `${start}${hint}${all}`, {
    data: { tool: `${server}:${tool}`, server, suggestions },
  });
}

function explainEmpty(gateway: Gateway, server: string): string {
  const count = listServerTools(gateway, server).length;
  return count === 0
    ? ` "${server}" has no tools.`
    : ` "${server}" has no enabled tools: all ${count} are disabled.`;
}

/** Suggests near names: spelled alike, of mostly the same words, or the same on another server. */
async function suggestTools(
  gateway: Gateway,
  server: string,
  tool: string,
  names: readonly string[],
): Promise<string[]> {
  const alike = nearest(tool, names);
  const words = tool.replace(/([a-z])([A-Z])/g, "$1 $2").replace(/[^\p{L}\p{N}]+/gu, " ");
  const related = await gateway.services.search?.(words, { server, limit: MAX_SUGGESTIONS });
  const elsewhere = gateway.catalog
    .tools()
    .find((other) => other.name === tool && other.enabled && other.server !== server);
  const found = [
    ...(alike === undefined ? [] : [alike]),
    ...(elsewhere ? [elsewhere.id] : []),
    ...(related?.hits ?? []).flatMap((hit) => (sharesWords(words, hit.tool.name) ? [hit.tool.name] : [])),
  ];
  return [...new Set(found)].slice(0, MAX_SUGGESTIONS).map((name) => shorten(name, 80));
}

/** Whether more than half of the words of a name are in another: one verb in common does not make names alike. */
function sharesWords(words: string, name: string): boolean {
  const asked = splitWords(words);
  const own = new Set(splitWords(name));
  return asked.filter((word) => own.has(word)).length > asked.length / 2;
}
