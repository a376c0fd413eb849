import { execFile } from "node:child_process";
import { delimiter, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../core/mod.ts";
import { startServe, toolpipeCommand } from "../../support/start-serve.ts";
import { temporaryFolder, writeFiles } from "../../support/temporary-folder.ts";

// The `node_modules` that has a Node 24 and the two programs: what they need is newer than what we run on, and none
// of it must come before our own `node`.
const { TOOLPIPE_PROGRAMS: programs } = process.env;
const everything = fileURLToPath(
  new URL("../../../node_modules/@modelcontextprotocol/server-everything/dist/index.js", import.meta.url),
);

interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The outcome of a call by a program. */
interface Answer {
  readonly failed: boolean;
  /** The text of the result, or what the program says of an error. */
  readonly text: string;
}

/** A third-party client, as a person uses it in a terminal. */
interface Program {
  tools(home: string): Promise<string[]>;
  call(home: string, tool: string, args: JsonObject): Promise<Answer>;
}

/** Runs a file on Node 24, in a home of its own. */
function run(file: string, home: string, args: readonly string[] = []): Promise<Finished> {
  const node = join(String(programs), "node", "bin");
  const env = {
    HOME: home,
    PATH: [node, process.env["PATH"]].join(delimiter),
    MCP_INSPECTOR_SECRET_STORE: "memory",
  };
  return new Promise((resolve) => {
    execFile(join(node, "node"), [file, ...args], { cwd: home, env }, (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code ?? 1) : 0, stdout, stderr }),
    );
  });
}

const bin = (name: string): string => join(String(programs), ".bin", name);

function inspector(protocol: "legacy" | "modern"): Program {
  const ask = (home: string, ...args: string[]): Promise<Finished> =>
    run(bin("mcp-inspector"), home, [
      ...["--cli", "--config", "clients.json", "--server", "toolpipe"],
      ...["--format", "json", "--quiet", "--protocol-era", protocol],
      ...args,
    ]);
  return {
    async tools(home) {
      // It also complains of schemas that some hosts would not take.
      const { code, stdout, stderr } = await ask(home, "--method", "tools/list", "--strict");
      expect([code, stderr]).toEqual([0, ""]);
      const { result } = JSON.parse(stdout) as { result: { tools: { name: string }[] } };
      return result.tools.map(({ name }) => name);
    },
    async call(home, tool, args) {
      const given = ["--tool-name", tool, "--tool-args-json", JSON.stringify(args)];
      const { code, stdout, stderr } = await ask(home, "--method", "tools/call", ...given);
      if (stdout === "") return { failed: code !== 0, text: stderr };
      const { result } = JSON.parse(stdout) as { result: { content: { text: string }[]; isError?: boolean } };
      expect(result.isError === true).toBe(code !== 0);
      return { failed: code !== 0, text: result.content.map(({ text }) => text).join("\n") };
    },
  };
}

const mcporter: Program = {
  async tools(home) {
    const { stdout } = await run(bin("mcporter"), home, [
      "--config",
      "clients.json",
      "list",
      "toolpipe",
      "--json",
    ]);
    return (JSON.parse(stdout) as { tools: { name: string }[] }).tools.map(({ name }) => name);
  },
  async call(home, tool, args) {
    // Its command takes the name `list_tools` for a request of its own; its library calls it.
    if (tool === "list_tools") return callByLibrary(home, tool, args);
    const given = ["call", `toolpipe.${tool}`, "--args", JSON.stringify(args), "--output", "text"];
    const { code, stdout, stderr } = await run(bin("mcporter"), home, ["--config", "clients.json", ...given]);
    return { failed: code !== 0, text: `${stdout}${stderr}`.trim() };
  },
};

async function callByLibrary(home: string, toolName: string, args: JsonObject): Promise<Answer> {
  const library = pathToFileURL(join(String(programs), "mcporter", "dist", "index.js")).href;
  const given = { server: "toolpipe", toolName, args, configPath: "clients.json" };
  const script = `import { callOnce } from ${JSON.stringify(library)};
console.log(JSON.stringify(await callOnce(${JSON.stringify(given)})));`;
  await writeFiles(home, { "call.mjs": script });
  const { code, stdout } = await run(join(home, "call.mjs"), home);
  const { content } = JSON.parse(stdout) as { content: { text: string }[] };
  return { failed: code !== 0, text: String(content[0]?.text) };
}

/** A home with what a client needs to reach us, with a real server behind us. */
async function createHome(transport: "stdio" | "http"): Promise<string> {
  const config = { mcpServers: { everything: { command: "node", args: [everything, "stdio"] } } };
  const home = await temporaryFolder({ "toolpipe.config.json": JSON.stringify(config) });
  const env = { PATH: String(process.env["PATH"]), HOME: home, TOOLPIPE_HOME: join(home, "own") };
  const file = join(home, "toolpipe.config.json");
  const [command, ...args] = toolpipeCommand;
  const toolpipe =
    transport === "stdio"
      ? { command, args: [...args, "serve", "--config", file], env }
      : { type: "streamable-http", url: await serve(["--config", file, "--http", "0"], env) };
  await writeFiles(home, { "clients.json": JSON.stringify({ mcpServers: { toolpipe } }) });
  return home;
}

async function serve(args: readonly string[], env: NodeJS.ProcessEnv): Promise<string> {
  const line = await startServe(args, { env }).line("http://");
  return /http:\S+/.exec(line)?.[0] ?? "";
}

describe.skipIf(!programs).each<[string, "stdio" | "http", Program]>([
  ["the MCP Inspector, modern protocol, stdio", "stdio", inspector("modern")],
  ["the MCP Inspector, legacy protocol, Streamable HTTP", "http", inspector("legacy")],
  ["mcporter, stdio", "stdio", mcporter],
  ["mcporter, Streamable HTTP", "http", mcporter],
])("%s (needs Node 24 with mcporter and the MCP Inspector)", (_name, transport, program) => {
  test("lists the five meta-tools, calls each, and reports what fails", async () => {
    const home = await createHome(transport);
    expect(await program.tools(home)).toEqual([
      "list_mcp_servers",
      "search_tools",
      "list_tools",
      "get_tool_details",
      "execute_tool",
    ]);
    const call = (tool: string, args: JsonObject): Promise<Answer> => program.call(home, tool, args);
    const tool = { server: "everything", tool: "echo" };
    // The first to call has the server start; then all of them may come at once.
    expect(await call("execute_tool", { ...tool, arguments: { message: "hello" } })).toEqual({
      failed: false,
      text: "Echo: hello",
    });
    const [servers, found, tools, details, unknown, wrong] = await Promise.all([
      call("list_mcp_servers", {}),
      call("search_tools", { query: "echo" }),
      call("list_tools", { server: "everything" }),
      call("get_tool_details", tool),
      call("execute_tool", { ...tool, tool: "ecko", arguments: {} }),
      call("search_tools", { limit: 1 }),
    ]);
    expect(parsed(servers)).toMatchObject({ servers: [{ name: "everything" }] });
    // It has more for gateways that let it ask their clients; which of them depends on how they are served.
    const [{ toolCount }] = (parsed(servers) as { servers: [{ toolCount: number }] }).servers;
    expect(toolCount).toBeGreaterThan(13);
    expect(parsed(found)).toMatchObject({ results: [tool] });
    expect(parsed(tools)).toMatchObject({
      tools: expect.arrayContaining([expect.objectContaining({ name: "echo" })]),
    });
    expect(parsed(details)).toMatchObject({ ...tool, parameters: [{ name: "message", required: true }] });
    expect(unknown.failed).toBe(true);
    expect(unknown.text).toContain("TOOL_NOT_FOUND");
    expect(unknown.text).toContain("Did you mean echo?");
    expect(wrong.failed).toBe(true);
    expect(wrong.text).toMatch(/required property .?"query/);
  }, 120_000);
});

function parsed({ failed, text }: Answer): unknown {
  expect(failed).toBe(false);
  return JSON.parse(text);
}
