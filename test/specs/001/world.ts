import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { afterAll } from "vitest";
import { createGateway, type JsonObject } from "../../../core/mod.ts";
import {
  anygpt,
  createDiscoveryEngine,
  type DiscoveryEngine,
  describeAnygptTools,
} from "../../../presets/anygpt/mod.ts";
import { parseJson } from "../../support/failure.ts";
import { faulty } from "../../support/place.ts";
import { type Finished, runMain } from "../../support/run-cli.ts";
import { writeFiles } from "../../support/temporary-folder.ts";
import { folderForAll, type ToldTool, toldServer } from "../shared.ts";

const text = (description: string, example: string): JsonObject => ({
  type: "string",
  description,
  examples: [example],
});
const says = (content: string, more: JsonObject = {}): JsonObject => ({
  content: [{ type: "text", text: content }],
  ...more,
});
const more = (count: number, name: string): ToldTool[] =>
  Array.from({ length: count }, (_, index) => ({
    name: `${name}_${index + 1}`,
    description: `Part ${index + 1}`,
  }));

/** The issue that `create_issue` answers with. */
export const issue: JsonObject = {
  issue_number: 123,
  url: "https://github.com/owner/repo/issues/123",
  title: "Bug report",
  state: "open",
};
export const arguments_: JsonObject = { repo: "owner/repo", title: "Bug report", body: "Description" };

const github: readonly ToldTool[] = [
  {
    name: "create_issue",
    description: "Create a new GitHub issue in a repository",
    inputSchema: {
      type: "object",
      properties: {
        repo: text("Repository name (owner/repo)", "owner/repo"),
        title: text("Issue title", "Bug: Application crashes on startup"),
        body: text("Issue body (markdown)", "## Steps to reproduce\n1. Launch app\n2. Crash occurs"),
      },
      required: ["repo", "title"],
    },
  },
  { name: "update_issue", description: "Update an existing GitHub issue" },
  { name: "list_repos", description: "List GitHub repositories" },
  ...more(10, "workflow"),
  { name: "delete_issue", description: "Delete a GitHub issue" },
  { name: "delete_repo", description: "Delete a GitHub repository" },
];
const filesystem: readonly ToldTool[] = [
  {
    name: "read_file",
    description: "Read the contents of a file",
    inputSchema: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
  },
  { name: "list_directory", description: "List a directory" },
  { name: "write_file", description: "Write a file" },
  { name: "remove_directory", description: "Remove a directory" },
  ...more(4, "volume"),
];

/** The tools of the servers, by server. */
export const toolNames = {
  github: github.map(({ name }) => name),
  filesystem: filesystem.map(({ name }) => name),
};

/** Entries of the servers of the specification's examples, all of which really run. */
export const mcpServers: Readonly<Record<string, JsonObject>> = {
  github: {
    ...toldServer(github, {
      create_issue: says("Issue #123 created", { structuredContent: issue }),
      update_issue: says("Failed to create issue: API rate limit exceeded", { isError: true }),
      list_repos: says("[]"),
    }),
    description: "GitHub API integration",
  },
  filesystem: {
    ...toldServer(filesystem, { read_file: says("# The file") }),
    description: "File system operations",
  },
  database: { ...toldServer(more(12, "query")), description: "Database queries" },
  jira: toldServer([{ name: "create_ticket", description: "Create a new Jira ticket" }]),
  ai: { ...faulty() },
};

export const toolRules: readonly JsonObject[] = [
  { pattern: ["delete_*"], enabled: false, tags: ["github", "dangerous"] },
  { pattern: ["*issue*"], tags: ["github", "issues"] },
  { pattern: ["list_repos"], tags: ["github", "repos"] },
  { server: "jira", pattern: ["*"], tags: ["jira", "issues"] },
];

/** What the rows share: folders, and an engine on all servers. */
export const world = {} as { engine: DiscoveryEngine; home: string; project: string };

/** Opens the world of the rows, in a home and a project of its own. Called in `beforeAll`. */
export async function openWorld(): Promise<void> {
  const root = await folderForAll({
    "home/keep": "",
    "project/toolpipe.config.json": JSON.stringify({ mcpServers, toolRules }),
  });
  const [cwd, before] = [process.cwd(), { ...process.env }];
  afterAll(() => {
    process.chdir(cwd);
    Object.assign(process.env, before);
  });
  Object.assign(world, { home: join(root, "home"), project: join(root, "project") });
  Object.assign(process.env, {
    HOME: world.home,
    USERPROFILE: world.home,
    TOOLPIPE_HOME: join(root, "state"),
  });
  process.chdir(world.project);
  world.engine = await openEngine({ servers: toServers(mcpServers), toolRules });
}

const engines: DiscoveryEngine[] = [];

/** Opens an engine on a config of the specification, perhaps with options of its connections, and closes it with the world. */
export async function openEngine(config: object, upstreams: JsonObject = {}): Promise<DiscoveryEngine> {
  const engine = await createDiscoveryEngine({ enabled: true, ...config }, { options: { upstreams } });
  engines.push(engine);
  return engine;
}

/** Closes all engines. Called in `afterAll`. */
export async function closeWorld(): Promise<void> {
  await Promise.all(engines.map((engine) => engine.close()));
}

/** Writes entries as the list of servers of the specification. */
export function toServers(entries: Readonly<Record<string, JsonObject>>) {
  return Object.entries(entries).map(([name, { command, args, description }]) => ({
    name,
    ...(description !== undefined && { description }),
    connection: { type: "stdio", command, args },
  }));
}

/** A server with one tool that counts its starts; `change` gives it another tool from its next start on. */
export async function countedServer(name: string): Promise<{
  entry: JsonObject;
  count(): Promise<number>;
  change(tool: string): Promise<void>;
}> {
  const folder = join(world.project, "..", `counted-${name}`);
  const { args } = toldServer([]);
  const [script = ""] = args.slice(-2);
  const told = (tool: string): string =>
    JSON.stringify({ tools: [{ name: tool, description: "Counts" }], answers: { counted_tool: says("1") } });
  const server = `import { appendFileSync, readFileSync } from "node:fs";
appendFileSync(${JSON.stringify(join(folder, "starts"))}, ".");
process.argv[2] = readFileSync(${JSON.stringify(join(folder, "told.json"))}, "utf8");
await import(${JSON.stringify(pathToFileURL(script).href)});`;
  await writeFiles(folder, { "server.mjs": server, "told.json": told("counted_tool"), starts: "" });
  return {
    entry: { command: process.execPath, args: [...args.slice(0, -2), join(folder, "server.mjs")] },
    count: async () => (await readFile(join(folder, "starts"), "utf8")).length,
    change: (tool) => writeFiles(folder, { "told.json": told(tool) }),
  };
}

/** Writes a file of servers as most clients have it; each server has one tool, of its own name. */
export function clientFile(...names: string[]): string {
  return JSON.stringify({
    mcpServers: Object.fromEntries(names.map((name) => [name, toldServer([{ name }])])),
  });
}

/** Writes a file of servers in the custom format; the tools of each are given. */
export function customFile(servers: Readonly<Record<string, readonly string[]>>): string {
  const lines = Object.entries(servers).map(([name, tools]) => {
    const { command, args } = toldServer(tools.map((tool) => ({ name: tool })));
    const connection = `{ type: stdio, command: ${JSON.stringify(command)}, args: ${JSON.stringify(args)} }`;
    return `  ${name}:\n    connection: ${connection}\n`;
  });
  return `servers:\n${lines.join("")}`;
}

/** Calls a meta-tool of the world, and returns what it answers with. */
export async function ask(tool: string, args: object = {}, { gateway } = world.engine): Promise<JsonObject> {
  return parseJson(await gateway.run({ tool: `anygpt:${tool}`, args })) as JsonObject;
}

/** Runs a command as the specification writes it. */
export function run(...args: string[]): Promise<Finished> {
  return runMain(["mcp", ...args], "anygpt");
}

/** Applies rules to tools of servers. Returns tags by tool, and those that are enabled. */
export async function applyRules(
  rules: readonly object[],
  tools: Readonly<Record<string, readonly string[]>> = toolNames,
): Promise<{ enabled: string[]; tags: Readonly<Record<string, readonly string[]>> }> {
  const gateway = await createGateway({ preset: anygpt, options: { rules: { toolRules: rules } } });
  try {
    for (const [id, names] of Object.entries(tools)) {
      await gateway.catalog.replace(
        { id },
        names.map((name) => ({ name, inputSchema: { type: "object" } })),
      );
    }
    const all = gateway.catalog.tools();
    return {
      enabled: all.filter(({ enabled }) => enabled).map(({ name }) => name),
      tags: Object.fromEntries(all.map(({ name, tags }) => [name, tags])),
    };
  } finally {
    await gateway.close();
  }
}

/** Returns the list of tools as a client receives it. */
export function listMetaTools(): object {
  const tools = describeAnygptTools(world.engine.gateway);
  return {
    tools: tools.map(({ name, description, inputSchema, annotations }) => ({
      name,
      description,
      inputSchema,
      annotations,
    })),
  };
}

/** Counts the tokens of a value as a model reads it. */
export function countTokens(value: unknown): number {
  return encode(typeof value === "string" ? value : JSON.stringify(value)).length;
}
