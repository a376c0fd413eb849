import { execFile } from "node:child_process";
import { mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { Client, type JSONObject } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { fromRoot, toolpipeCommand } from "./_root.ts";

/** A call of the story, as an agent sees it. */
export interface StoryStep {
  readonly tool: string;
  readonly args: object;
  /** The text of the answer. */
  readonly answer: string;
}

/** The two-step story of the AnyGPT specification, as it went. */
export interface Story {
  readonly steps: readonly StoryStep[];
  /** The list of tools that the agent gets first. */
  readonly tools: string;
  /** The list of tools of the servers themselves, without a gateway. */
  readonly directTools: string;
  /** The final content of the second server's file. */
  readonly kept: unknown;
}

const README = `# Weather station

Reads temperature and air pressure once a minute and draws them as a chart.

- \`npm start\` serves the chart at http://localhost:8080.
- A sensor that does not answer is asked again after ten seconds.
`;

const issue = {
  title: "Document how to add a sensor",
  description: "README.md says how the chart is served and what a mute sensor does, but not how to add one.",
};

/**
 * "Read README.md, then create an issue": an agent that knows only the five meta-tools finds, reads up on and calls
 * a tool of one server and then of another. A client process connects to a gateway process, and that to the processes
 * of two servers from npm. A server for the issues of GitHub would need GitHub; the task manager is the one that,
 * on one's own machine, takes a title and a description, gives them a number and keeps them.
 */
export async function tellStory(): Promise<Story> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "toolpipe-story-")));
  try {
    return await runStory(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function runStory(folder: string): Promise<Story> {
  const kept = join(folder, "tasks.json");
  const servers = {
    filesystem: {
      command: "node",
      args: [fromRoot("node_modules/@modelcontextprotocol/server-filesystem/dist/index.js"), "."],
      cwd: folder,
    },
    tasks: {
      command: "node",
      args: [fromRoot("node_modules/@kazuph/mcp-taskmanager/dist/index.js")],
      env: { TASK_MANAGER_FILE_PATH: kept },
    },
  };
  const config = join(folder, "toolpipe.config.json");
  await writeFile(config, JSON.stringify({ mcpServers: servers }));
  await writeFile(join(folder, "README.md"), README);
  const env = { PATH: String(process.env["PATH"]), HOME: folder, TOOLPIPE_HOME: join(folder, "own") };
  const [command, ...own] = toolpipeCommand();
  // So that the story does not depend on which server answers first.
  await promisify(execFile)(command, [...own, "refresh", "--config", config], { env });

  return withClient({ command, args: [...own, "serve", "--config", config], env }, async (client) => {
    const steps: StoryStep[] = [];
    const call = async (tool: string, args: JSONObject): Promise<string> => {
      const { content } = await client.callTool({ name: tool, arguments: args });
      const answer = content.map((block) => (block.type === "text" ? block.text : "")).join("\n");
      steps.push({ tool, args, answer });
      return answer;
    };
    const find = async (query: string, wanted: { server: string; tool: string }): Promise<void> => {
      const { results } = JSON.parse(await call("search_tools", { query })) as { results: (typeof wanted)[] };
      const isThere = results.some(({ server, tool }) => server === wanted.server && tool === wanted.tool);
      if (!isThere) throw new Error(`"${query}" did not find ${wanted.server}:${wanted.tool}.`);
      await call("get_tool_details", wanted);
    };
    const reading = { server: "filesystem", tool: "read_text_file" };
    await find("read a file", reading);
    await call("execute_tool", { ...reading, arguments: { path: "README.md" } });
    const creating = { server: "tasks", tool: "request_planning" };
    await find("register a new task", creating);
    const args = { originalRequest: "Read README.md, then create an issue", tasks: [issue] };
    await call("execute_tool", { ...creating, arguments: args });
    return {
      steps,
      tools: JSON.stringify(await client.listTools()),
      directTools: (await Promise.all(Object.values(servers).map(listTools))).join("\n"),
      kept: JSON.parse(await readFile(kept, "utf8")),
    };
  });
}

type Parameters = ConstructorParameters<typeof StdioClientTransport>[0];

async function withClient<T>(server: Parameters, use: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ name: "story", version: "1.0.0" });
  await client.connect(new StdioClientTransport({ ...server, stderr: "ignore" }));
  try {
    return await use(client);
  } finally {
    await client.close();
  }
}

function listTools(server: Parameters): Promise<string> {
  return withClient(server, async (client) => JSON.stringify(await client.listTools()));
}
