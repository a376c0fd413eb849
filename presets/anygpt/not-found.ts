import { type Gateway, GatewayError, nearest } from "../../core/mod.ts";
import { hasServer, noServer, someOf, toolsOf, troubleOf } from "../../plugins/lib/servers.ts";
import { shorten } from "../../plugins/lib/text/shorten.ts";

const MAX_SUGGESTIONS = 3;

/** The error for a tool that is not there: why it cannot be, or what may have been meant. Disabled tools are not named. */
export async function noTool(gateway: Gateway, server: string, tool: string): Promise<GatewayError> {
  const start = `There is no tool "${shorten(`${server}:${tool}`, 160)}".`;
  if (!hasServer(gateway, server)) return noServer(gateway, server, `${start} `);
  const trouble = troubleOf(gateway, server);
  if (trouble) return trouble;
  const names = enabledNames(gateway, server);
  const suggestions = await suggestionsFor(gateway, server, tool, names);
  const hint = suggestions.length > 0 ? ` Did you mean ${suggestions.join(" or ")}?` : "";
  const all =
    names.length > 0 ? ` The tools of "${server}" are ${someOf(names)}.` : ` "${server}" has no tools.`;
  return new GatewayError("TOOL_NOT_FOUND", `${start}${hint}${all}`, {
    data: { tool: `${server}:${tool}`, server, suggestions },
  });
}

function enabledNames(gateway: Gateway, server: string): string[] {
  return toolsOf(gateway, server).flatMap(({ name, enabled }) => (enabled ? [name] : []));
}

/** Names that are written alike, tools that do the like, and the same name on another server. */
async function suggestionsFor(
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
    .filter((other) => other.name === tool && other.enabled && other.server !== server);
  const found = [
    ...(alike === undefined ? [] : [alike]),
    ...elsewhere.slice(0, 1).map(({ id }) => id),
    ...(related?.hits ?? []).map((hit) => hit.tool.name),
  ];
  return [...new Set(found)].slice(0, MAX_SUGGESTIONS).map((name) => shorten(name, 80));
}
