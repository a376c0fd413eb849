import { existsSync, readFileSync } from "node:fs";
import type { Tool, ToolDefinition } from "../../core/mod.ts";
import { fromRoot } from "./_root.ts";
import { workspaceTools } from "./_workspace-tools.ts";

const file = fromRoot("..", "shared", "data", "catalog", "tools.jsonl");

interface Listed extends ToolDefinition {
  readonly server: string;
}

/**
 * So many tools of many servers: real ones where a collection of them lies beside the project, made-up ones
 * elsewhere. Where there are not enough, they come again under other servers, each with words of another.
 */
export function makeTools(count: number): Tool[] {
  const listed = realTools();
  const source = listed.length > 0 ? listed : madeUp();
  const sentences = source.map(({ description = "" }) => description.split(". "));
  const tools = Array.from({ length: count }, (_, index): Tool => {
    const copy = Math.floor(index / source.length);
    const { server, name, title, description, inputSchema } = source[index % source.length] as Listed;
    const other = sentences[(index * 31 + copy * 17) % source.length]?.[0] ?? "";
    const id = copy === 0 ? server : `${server}-${copy}`;
    return {
      id: `${id}:${name}`,
      server: id,
      name,
      title,
      description: copy === 0 ? description : `${description ?? ""} ${other} ${name}${copy}`,
      inputSchema,
      tags: [],
      enabled: true,
      builtin: false,
    };
  });
  // As they come from a server: a text that was put together is put in one piece only when it is first read.
  return JSON.parse(JSON.stringify(tools));
}

function realTools(): readonly Listed[] {
  if (!existsSync(file)) return [];
  return readFileSync(file, "utf8")
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Listed);
}

function madeUp(): readonly Listed[] {
  return Array.from({ length: 400 }, (_, index) => index).flatMap((index) =>
    workspaceTools(index).map((tool) => ({ ...tool, server: `server-${index}` })),
  );
}
