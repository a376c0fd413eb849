import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { toldServer } from "../../specs/shared.ts";
import { dead, faulty, marking, place, real, write } from "../../support/place.ts";
import { runMain } from "../../support/run-cli.ts";

let project: string;

/** Writes a config with these servers. */
async function servers(mcpServers: object, more: object = {}): Promise<void> {
  await write(project, { "toolpipe.config.json": { mcpServers, ...more } });
}

beforeEach(async () => {
  ({ project } = await place());
});

describe("execute on a server", () => {
  test("prints the result of a real one, as lines and as JSON", async () => {
    await servers({ files: real.files(project) });
    await write(project, { "note.txt": "one\ntwo" });
    const args = JSON.stringify({ path: join(project, "note.txt") });
    expect(await runMain(["execute", "files", "read_text_file", "--args", args])).toEqual({
      code: 0,
      stdout: "Executing: files:read_text_file\n\n✓ Success\n\nResult:\n  one\n  two\n",
      stderr: "",
    });
    const json = await runMain(["execute", "files", "read_text_file", "--args", args, "--json"]);
    expect(JSON.parse(json.stdout)).toMatchObject({
      success: true,
      result: { content: "one\ntwo" },
    });
  });

  test("prints a failure of the tool itself, with exit code 3", async () => {
    await servers({ files: real.files(project) });
    const args = ["execute", "files", "read_text_file", "--args", '{"path":"/not/here"}'];
    const { code, stdout, stderr } = await runMain(args);
    expect(stdout).toMatch(
      /^Executing: files:read_text_file\n\n✗ Error\n\nCode: TOOL_EXECUTION_ERROR\nMessage: Access denied.*\nServer: files\nTool: read_text_file\n$/,
    );
    expect({ code, stderr }).toEqual({ code: 3, stderr: "" });
  });

  test("refuses wrong arguments with exit code 1", async () => {
    await servers({ files: real.files(project) });
    const { code, stdout } = await runMain(["execute", "files", "read_text_file", "--args", '{"path":7}']);
    expect(stdout).toContain("Code: TOOL_VALIDATION_ERROR\n");
    expect(code).toBe(1);
  });

  test("starts no server for a call of a known tool that cannot be made", async () => {
    const { definition, marks } = await marking(project);
    await servers({ one: definition }, { toolRules: [{ pattern: ["fail"], enabled: false }] });
    await runMain(["refresh"]);
    expect((await runMain(["execute", "one", "echo", "--args", '{"text":7}'])).code).toBe(1);
    expect((await runMain(["execute", "one", "fail"])).code).toBe(4);
    expect(await readFile(marks, "utf8")).toBe("started\n");
  });

  test("refuses a disabled tool with exit code 4, and does not run it", async () => {
    const file = join(project, "memory.json");
    await servers({ memory: real.memory(file) }, { toolRules: [{ pattern: ["create_*"], enabled: false }] });
    const args = '{"entities":[{"name":"a","entityType":"b","observations":[]}]}';
    const { code, stdout } = await runMain(["execute", "memory", "create_entities", "--args", args]);
    expect(stdout).toContain(
      'Code: TOOL_DISABLED\nMessage: "memory:create_entities" is disabled. Rule 1 (create_*) disables it.\n',
    );
    expect(code).toBe(4);
    expect(await readdir(project)).not.toContain("memory.json");
  });

  test("names the tool that was probably meant, with exit code 2", async () => {
    await servers({ one: faulty() });
    const { code, stdout } = await runMain(["execute", "one", "ehco"]);
    expect(stdout).toContain(
      'Code: TOOL_NOT_FOUND\nMessage: There is no tool "one:ehco". Did you mean echo? The tools of "one" are echo, fail, ',
    );
    expect(code).toBe(2);
  });

  test("does not suggest a disabled tool", async () => {
    await servers({ one: faulty() }, { toolRules: [{ pattern: ["echo"], enabled: false }] });
    const { stdout } = await runMain(["execute", "one", "ehco"]);
    expect(stdout).toContain('Message: There is no tool "one:ehco". The tools of "one" are fail, ');
    expect(stdout).not.toContain("echo");
  });

  test("names the server that was probably meant, with exit code 2", async () => {
    await servers({ files: faulty() });
    const { code, stdout } = await runMain(["execute", "flies", "echo", "--json"]);
    expect(JSON.parse(stdout).error).toEqual({
      code: "TOOL_NOT_FOUND",
      message:
        'There is no tool "flies:echo". There is no server "flies"; did you mean "files"? The servers are files.',
      server: "flies",
      tool: "echo",
    });
    expect(code).toBe(2);
  });

  test("tells why a server is not there, not that its tool is missing", async () => {
    await servers({ gone: dead, off: { ...faulty(), disabled: true } });
    const gone = await runMain(["execute", "gone", "echo"]);
    expect(gone.stdout).toMatch(/Code: TOOL_EXECUTION_ERROR\nMessage: .*it was not found\.\n/);
    expect(gone.code).toBe(3);
    const off = await runMain(["execute", "off", "echo"]);
    expect(off.stdout).toMatch(/Code: TOOL_DISABLED\nMessage: .*It is switched off in .*\n/);
    expect(off.code).toBe(4);
  });

  test("fails with exit code 3 where a variable of the server is not set, as tools and inspect do", async () => {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the variable is expanded when the server is connected
    await servers({ one: { ...faulty(), env: { TOKEN: "${EXECUTE_NOT_SET}" } } });
    const executed = await runMain(["execute", "one", "echo"]);
    expect(executed.stdout).toContain("EXECUTE_NOT_SET");
    const others = [await runMain(["tools", "one"]), await runMain(["inspect", "one", "echo"])];
    expect([executed, ...others].map(({ code }) => code)).toEqual([3, 3, 3]);
  });

  test("prints an error that the server answered with as the server wrote it", async () => {
    await servers({ one: faulty() });
    const { code, stdout } = await runMain([
      "execute",
      "one",
      "error",
      "--args",
      '{"message":"Quota used up."}',
      "--json",
    ]);
    expect(JSON.parse(stdout)).toEqual({
      success: false,
      error: { code: "TOOL_EXECUTION_ERROR", message: "Quota used up.", server: "one", tool: "error" },
    });
    expect(code).toBe(3);
  });

  test("tells why a server is not there whose tools are known from earlier", async () => {
    await write(project, {
      "server.mjs": `await import(${JSON.stringify((faulty()["args"] as string[])[0])});`,
    });
    await servers({ one: { command: "node", args: [join(project, "server.mjs")] } });
    expect((await runMain(["search", "echo"])).code).toBe(0);
    await write(project, { "server.mjs": "process.exit(1);" });
    const { code, stdout } = await runMain(["execute", "one", "echo"]);
    expect(stdout).toMatch(/Code: TOOL_EXECUTION_ERROR\nMessage: The server "one" ended before it was ready/);
    expect(code).toBe(3);
  });

  test("finds a tool that is newer than the cached listing of its server", async () => {
    const server = (tools: string) => `
      import { createInterface } from "node:readline";
      const answer = (id, result) => console.log(JSON.stringify({ jsonrpc: "2.0", id, result }));
      const tools = ${tools}.map((name) => ({ name, inputSchema: { type: "object" } }));
      createInterface({ input: process.stdin }).on("line", (line) => {
        const { id, method, params } = JSON.parse(line);
        if (id === undefined) return;
        if (method === "initialize")
          answer(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } });
        else if (method === "tools/list") answer(id, { tools });
        else if (method === "tools/call") answer(id, { content: [{ type: "text", text: params.name }] });
        else console.log(JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32601, message: "Method not found" } }));
      });`;
    await write(project, { "server.mjs": server('["old"]') });
    await servers({ one: { command: "node", args: [join(project, "server.mjs")] } });
    expect((await runMain(["search", "old"])).code).toBe(0);
    await write(project, { "server.mjs": server('["old", "new"]') });
    expect(await runMain(["execute", "one", "new"])).toMatchObject({
      code: 0,
      stdout: "Executing: one:new\n\n✓ Success\n\nResult:\n  new\n",
    });
  });

  test("prints a result without text blocks", async () => {
    await servers({ one: faulty() });
    const { stdout } = await runMain(["execute", "one", "structured"]);
    expect(stdout).toContain("Result:\n  [novel]\n");
    await write(project, {
      "empty.mjs": `import { localTools } from "toolpipe";
const inputSchema = { type: "object" };
export const empty = localTools("empty", { id: "empty" }, [
  { name: "nothing", inputSchema, run: () => ({ content: [] }) },
  { name: "data", inputSchema, run: () => ({ content: [], structuredContent: { a: 1 } }) },
]);`,
      "empty.json": { plugins: ["./empty.mjs"] },
    });
    const run = (tool: string) => runMain(["execute", "empty", tool, "--config", "empty.json"]);
    expect((await run("nothing")).stdout).toContain("Result:\n  (nothing)\n");
    expect((await run("data")).stdout).toContain("Result:\n  A: 1\n");
  });

  test("a result cannot steer the terminal, and JSON has it as it is", async () => {
    await servers({ one: faulty() });
    const text = "\u001b[31mred\u001b[0m\r\n[1] two\tthree\u0007";
    const args = ["execute", "one", "echo", "--args", JSON.stringify({ text })];
    expect((await runMain(args)).stdout).toContain("Result:\n  red\n  [1] two\tthree\n");
    expect(JSON.parse((await runMain([...args, "--json"])).stdout).result).toBe(text);
  });
});

describe("execute on a guarded tool", () => {
  const answer = { content: [{ type: "text", text: "done" }] };
  const tools = [{ name: "charge_card" }, { name: "delete_card" }];
  const bank = toldServer(tools, { charge_card: answer, delete_card: answer });
  const run = async (tool: string, ...more: string[]) => {
    const { code, stdout, stderr } = await runMain(["execute", "bank", tool, "--json", ...more]);
    return { code, ...JSON.parse(stdout), ...(stderr !== "" && { stderr }) };
  };

  test("takes a key, and replays the call under it", async () => {
    await servers({ bank }, { preset: "gateway" });
    expect(await run("charge_card")).toMatchObject({
      code: 4,
      error: { code: "IDEMPOTENCY_REQUIRED" },
      stderr: "Add --idempotency-key KEY to the command.\n",
    });
    const key = ["--idempotency-key", "order-1234-charge"];
    expect(await run("charge_card", ...key)).toEqual({ code: 0, success: true, result: "done" });
    expect(await run("charge_card", ...key)).toEqual({ code: 0, success: true, result: "done" });
    const other = await run("charge_card", ...key, "--args", '{"amount":1}');
    expect(other).toMatchObject({ code: 4, error: { code: "IDEMPOTENCY_MISMATCH" } });
  });

  test("takes a confirmation", async () => {
    await servers({ bank }, { preset: "gateway" });
    expect(await run("delete_card")).toMatchObject({
      code: 4,
      error: { code: "CONFIRMATION_REQUIRED" },
      stderr: "Add --confirm to the command.\n",
    });
    expect(await run("delete_card", "--confirm")).toMatchObject({ code: 0, success: true });
  });

  test.each(["gateway", "anygpt"])(
    "shows what would be sent, and sends nothing, in the preset %s",
    async (preset) => {
      const { definition, marks } = await marking(project);
      await servers({ one: definition }, { preset });
      await runMain(["refresh"]);
      const args = ["execute", "one", "echo", "--args", '{"text":"hello"}', "--dry-run", "--json"];
      expect(JSON.parse((await runMain(args)).stdout)).toEqual({
        success: true,
        result: { dry_run: true, request: { server: "one", tool: "echo", arguments: { text: "hello" } } },
      });
      expect(await readFile(marks, "utf8")).toBe("started\n");
    },
  );
});
