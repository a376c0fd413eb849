import { mkdtemp, readFile, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { createGateway, type Tool, type ToolDefinition } from "../../core/mod.ts";
import { mcp } from "../../plugins/mcp/mod.ts";

/** A line of `tools.jsonl`. */
export type ListedTool = Pick<Tool, "id" | "server" | "name" | "description" | "inputSchema">;

/** A server of the catalog: a package that is installed for development, and how it is started. */
interface Origin {
  readonly package: string;
  /** Its arguments; it may write into the folder, which is gone afterwards. */
  readonly args?: (folder: string) => readonly string[];
  readonly env?: (folder: string) => Readonly<Record<string, string>>;
}

/** The servers by the id they have in the catalog. */
const servers: Readonly<Record<string, Origin>> = {
  everything: { package: "@modelcontextprotocol/server-everything" },
  filesystem: { package: "@modelcontextprotocol/server-filesystem", args: (folder) => [folder] },
  git: { package: "mcp-git" },
  "knowledge-graph": {
    package: "@itseasy21/mcp-knowledge-graph",
    args: (folder) => ["--memory-path", join(folder, "graph.jsonl")],
  },
  memory: {
    package: "@modelcontextprotocol/server-memory",
    env: (folder) => ({ MEMORY_FILE_PATH: join(folder, "memory.jsonl") }),
  },
  taskmanager: {
    package: "@kazuph/mcp-taskmanager",
    env: (folder) => ({ TASK_MANAGER_FILE_PATH: join(folder, "tasks.json") }),
  },
  time: { package: "time-mcp" },
};

/** Starts every server, asks it for its tools, and gives all of them, sorted by id. */
export async function collectTools(): Promise<ListedTool[]> {
  const folder = await mkdtemp(join(await realpath(tmpdir()), "toolpipe-labelled-"));
  try {
    const tools: ListedTool[] = [];
    // One after the other: seven processes that start at once take longer on a small machine.
    for (const [server, origin] of Object.entries(servers)) {
      for (const definition of await listTools(server, origin, folder)) {
        const { name, description, inputSchema } = definition;
        tools.push({
          id: `${server}:${name}`,
          server,
          name,
          ...(description !== undefined && { description }),
          inputSchema,
        });
      }
    }
    return tools.sort((a, b) => (a.id < b.id ? -1 : 1));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function listTools(server: string, origin: Origin, folder: string): Promise<readonly ToolDefinition[]> {
  const file = await findBin(origin.package);
  const run = "Deno" in globalThis ? ["run", "-A", "--no-lock", file] : [file];
  const gateway = await createGateway({ plugins: [mcp()] });
  const driver = await gateway.driver("upstream", "stdio");
  const upstream = await driver.connect(
    {
      name: server,
      connection: {
        type: "stdio",
        command: process.execPath,
        args: [...run, ...(origin.args?.(folder) ?? [])],
        env: origin.env?.(folder) ?? {},
        cwd: folder,
      },
      origin: { source: "playground", scope: "config" },
    },
    { events: {}, prior: undefined, signal: new AbortController().signal, capabilities: {} },
  );
  try {
    const { tools, rejected } = await upstream.list();
    if (rejected.length > 0) {
      throw new Error(`"${server}" lists tools that cannot be read: ${JSON.stringify(rejected)}.`);
    }
    return tools;
  } finally {
    await upstream.close();
    await gateway.close();
  }
}

/** The file that an installed package starts with. */
async function findBin(name: string): Promise<string> {
  const folder = fileURLToPath(new URL(`../../node_modules/${name}/`, import.meta.url));
  const { bin } = JSON.parse(await readFile(join(folder, "package.json"), "utf8")) as {
    readonly bin: string | Readonly<Record<string, string>>;
  };
  const file = typeof bin === "string" ? bin : Object.values(bin)[0];
  if (file === undefined)
    throw new Error(`The package "${name}" cannot be started: it names no file for that.`);
  return join(folder, file);
}
