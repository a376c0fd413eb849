import { existsSync, readFileSync } from "node:fs";
import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { createGateway, type Gateway, type ToolDefinition } from "../../core/mod.ts";
import { memorySink } from "../../plugins/audit/mod.ts";
import { anygpt, type DetailsStyle } from "../../presets/anygpt/mod.ts";
import { fromRoot } from "./_root.ts";

/** A tool as its server lists it. */
export interface ListedTool extends ToolDefinition {
  readonly server: string;
}

const styles: readonly (readonly [style: DetailsStyle, what: string])[] = [
  ["signature", "one line of TypeScript"],
  ["parameters", "each parameter with its type and what it is for, as the specification has it"],
  ["schema", "the JSON Schema as the server wrote it"],
];

/** Prints the tokens of tool details in each style, as a Markdown table. */
export async function detailsTable(tools: readonly ListedTool[]): Promise<string> {
  const rows: string[] = [];
  for (const [style, what] of styles) {
    const taken = await measure(tools, style);
    rows.push(`| \`"${style}"\` | ${what} | ${share(taken, 0.5)} | ${share(taken, 0.9)} |`);
  }
  const servers = new Set(tools.map(({ server }) => server)).size;
  return [
    "| `details` | what an agent is told of the parameters | median | 90 of 100 |",
    "|---|---|--:|--:|",
    ...rows,
    "",
    `Tokens (o200k) of an answer of \`get_tool_details\`, over ${tools.length} tools of ${servers} real servers.`,
  ].join("\n");
}

async function measure(tools: readonly ListedTool[], details: DetailsStyle): Promise<number[]> {
  const gateway = await open(details);
  try {
    for (const id of new Set(tools.map(({ server }) => server))) {
      const own = tools.filter(({ server }) => server === id);
      await gateway.catalog.replace({ id }, own);
    }
    const taken: number[] = [];
    for (const { server, name } of gateway.catalog.tools()) {
      const call = await gateway.run({ tool: "anygpt:get_tool_details", args: { server, tool: name } });
      if (!call.ok) throw call.error;
      taken.push(encode(String(call.result.content[0]?.["text"])).length);
    }
    return taken;
  } finally {
    await gateway.close();
  }
}

function open(details: DetailsStyle): Promise<Gateway> {
  const options = { audit: { sink: memorySink() }, cache: { enabled: false }, answers: { details } };
  return createGateway({ preset: anygpt, options });
}

/** The value that so much of a list is not above. */
function share(values: readonly number[], part: number): number {
  return values.toSorted((a, b) => a - b)[Math.ceil(part * values.length) - 1] ?? Number.NaN;
}

/** The tools of a large collection of real servers, where that lies beside the project; none elsewhere. */
export function collectedTools(): readonly ListedTool[] {
  const file = fromRoot("..", "shared", "data", "catalog", "tools.jsonl");
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, "utf8").split("\n").filter(Boolean);
  return lines.map((line) => JSON.parse(line) as ListedTool);
}

/** The tools of the servers that come with the project for its tests. */
export async function ownServersTools(): Promise<readonly ListedTool[]> {
  const npm = (name: string, ...args: string[]): object => ({
    command: "node",
    args: [fromRoot("node_modules", name), ...args],
  });
  const mcpServers = {
    everything: npm("@modelcontextprotocol/server-everything/dist/index.js", "stdio"),
    filesystem: npm("@modelcontextprotocol/server-filesystem/dist/index.js", fromRoot("test")),
    memory: npm("@modelcontextprotocol/server-memory/dist/index.js"),
    "knowledge-graph": npm("@itseasy21/mcp-knowledge-graph/dist/index.js"),
    tasks: npm("@kazuph/mcp-taskmanager/dist/index.js"),
    git: npm("mcp-git/dist/cli.js"),
    time: npm("time-mcp/dist/index.js"),
  };
  const options = {
    audit: { sink: memorySink() },
    cache: { enabled: false },
    sources: { mcpServers },
    upstreams: { discover: "none" },
  };
  const gateway = await createGateway({ preset: anygpt, options });
  try {
    await gateway.services.servers?.refresh();
    return [...gateway.catalog.tools()];
  } finally {
    await gateway.close();
  }
}
