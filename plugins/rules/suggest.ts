import { nearest } from "../../core/mod.ts";
import type { KnownTool } from "./known-tools.ts";
import { compilePattern } from "./pattern.ts";

/** Rewrites `\b` so that it also holds beside `_`, which is a letter to regular expressions. */
export function widenBoundaries(source: string): string | undefined {
  if (!/^!?\/.*\/[a-z]*$/s.test(source)) return undefined;
  // Pairs of a backslash and a character, so that `\\b` is not mistaken for a boundary.
  const wide = source.replace(/\\(.)/gs, (pair, character) => (character === "b" ? "(?:\\b|_)" : pair));
  return wide === source ? undefined : wide;
}

/** Finds a pattern that matches tools where the given one matches none. */
export async function suggestPattern(
  source: string,
  tools: readonly KnownTool[],
): Promise<string | undefined> {
  for (const candidate of listCandidates(source, tools)) {
    if (candidate !== source && (await listMatches(candidate, tools)).length > 0) return candidate;
  }
}

/** Lists the tools that one pattern matches, whether it is negated or not. */
export async function listMatches(source: string, tools: readonly KnownTool[]): Promise<KnownTool[]> {
  try {
    const { matches, withServer } = await compilePattern(source);
    return tools.filter(({ server, name }) => matches(withServer ? `${server}:${name}` : name));
  } catch {
    return [];
  }
}

function* listCandidates(source: string, tools: readonly KnownTool[]): Generator<string> {
  const servers = [...new Set(tools.map(({ server }) => server))];
  const body = source.replace(/^!/, "");
  const mark = source.slice(0, source.length - body.length);
  if (/^\/.+\/[a-z]*$/s.test(body)) {
    const wide = widenBoundaries(source);
    if (wide !== undefined) yield wide;
    if (!/i[a-z]*$/.test(body)) yield `${source}i`;
    return;
  }
  const word = body.replace(/[*?]+/g, "").replace(/^[\W_]+|[\W_]+$/g, "");
  for (const server of servers) {
    const rest = body.toLowerCase().startsWith(server.toLowerCase()) ? body.slice(server.length) : "";
    // Many clients show the tools of a server with its name before them.
    if (/^[_.-]./.test(rest)) yield `${mark}${server}:${rest.replace(/^[_.-]+/, "")}`;
  }
  const meant = servers.find((server) => server.toLowerCase() === word.toLowerCase());
  const similar = servers.find(
    (server) => word.length > 2 && server.toLowerCase().includes(word.toLowerCase()),
  );
  if (meant ?? similar) yield `${mark}${meant ?? similar}:*`;
  if (word !== "" && !body.includes("*")) yield `${mark}*${word}*`;
  const near = nearest(
    word,
    tools.map(({ name }) => name),
  );
  if (near !== undefined) yield mark + near;
}
