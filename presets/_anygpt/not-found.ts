import { type Gateway, GatewayError, nearest } from "../../core/mod.ts";
import { estimateTokens } from "../../plugins/_tokens.ts";
import { TOOL_DISABLED } from "../../plugins/rules/mod.ts";
import { CONNECT_FAILED, NEEDS_APPROVAL, NEEDS_AUTH } from "../../plugins/upstreams/errors.ts";
import { hasServer, serversOf, toolsOf } from "./servers.ts";
import { shorten } from "./shorten.ts";

const MAX_SUGGESTIONS = 3;
const LIST_TOKENS = 100;

/** The error for a server that is not there, with what may have been meant. */
export function noServer(gateway: Gateway, server: string, start = ""): GatewayError {
  const names = serversOf(gateway).map(({ name }) => name);
  const hint = nearest(server, names);
  const there = `There is no server "${shorten(server, 80)}"${hint ? `; did you mean "${hint}"?` : "."}`;
  const all = names.length > 0 ? ` The servers are ${someOf(names)}.` : " There are no servers at all.";
  return new GatewayError("TOOL_NOT_FOUND", `${start}${there}${all}`, {
    data: { server, suggestions: hint ? [hint] : [] },
  });
}

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

/** Why the tools of a server are not known; nothing where they are. */
export function troubleOf(gateway: Gateway, server: string): GatewayError | undefined {
  const status = gateway.services.upstreams?.status(server);
  if (!status || status.listedAt !== undefined) return undefined;
  const kinds = { "needs-approval": NEEDS_APPROVAL, "needs-auth": NEEDS_AUTH };
  const kind = status.config.disabled
    ? TOOL_DISABLED
    : (kinds[status.status as keyof typeof kinds] ?? CONNECT_FAILED);
  return new GatewayError(kind, `The tools of the server "${server}" are not known. ${status.reason}`, {
    data: { server },
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

/** As many names as are bearable, and how many there are besides. */
export function someOf(names: readonly string[], tokens: number = LIST_TOKENS): string {
  const shown: string[] = [];
  let spent = 0;
  for (const name of names) {
    const text = shorten(name, 64);
    spent += estimateTokens(`, ${text}`);
    if (spent > tokens) break;
    shown.push(text);
  }
  const more = names.length - shown.length;
  return `${shown.join(", ")}${more > 0 ? ` and ${more} more` : ""}`.trim();
}
