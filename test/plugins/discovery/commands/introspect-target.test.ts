import { describe, expect, test } from "vitest";
import { parseTarget } from "../../../../plugins/discovery/commands/introspect-target.ts";
import { parsePairs } from "../../../../plugins/lib/terminal/output.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

const none = { headers: {}, env: {} };

describe("the server of the command line", () => {
  test.each([
    ["https://api.githubcopilot.com/mcp/", "githubcopilot"],
    ["https://mcp.linear.app/sse", "linear"],
    ["https://example.com/mcp", "example"],
    ["http://127.0.0.1:8080/notes/mcp", "notes"],
    ["http://localhost:3000/mcp", "server"],
    ["http://[::1]:3000/", "server"],
  ])("%s is called %s", (url, name) => {
    expect(parseTarget([url], none)).toEqual({ name, entry: { url } });
  });

  test.each([
    ["npx -y @modelcontextprotocol/server-github@1.2.3", "github"],
    ["uvx mcp-server-git --repository x", "git"],
    ["node /opt/tools/weather-mcp.mjs", "weather"],
    ["docker run -i --rm mcp/fetch", "fetch"],
    ["node /opt/server-memory/dist/index.js", "memory"],
    ["python3 C:\\tools\\notes\\src\\main.py", "notes"],
    ["mcp-server", "mcp-server"],
  ])("%s is called %s", (line, name) => {
    const [command, ...args] = line.split(" ");
    expect(parseTarget(line.split(" "), none)).toEqual({ name, entry: { command, args } });
  });

  test("is found from other folders too, where it is a file of this one", async () => {
    const cwd = await temporaryFolder({ "server.mjs": "" });
    expect(parseTarget(["node", "server.mjs"], none, cwd).entry).toEqual({
      command: "node",
      args: ["server.mjs"],
      cwd,
    });
    expect(String(parseTarget(["./server.mjs"], none, cwd).entry["command"]).startsWith(cwd)).toBe(true);
  });

  test("gets its headers and variables as they are written", () => {
    const headers = { Authorization: `Bearer \${TOKEN}` };
    expect(parseTarget(["https://x.example/mcp"], { headers, env: {} }).entry).toEqual({
      url: "https://x.example/mcp",
      headers,
    });
    expect(parseTarget(["node"], { headers: {}, env: { A: `\${B}` } }).entry).toMatchObject({
      env: { A: `\${B}` },
    });
  });

  test("options that are given several times all count, and those of the command do not", () => {
    const typed = ["--env", "A=1", "--env=B=x=y", "--", "node", "--env", "C=3"];
    expect(parsePairs(typed, "env", "=")).toEqual({ A: "1", B: "x=y" });
    expect(parsePairs(["--header", "X-Key: a:b"], "header", ":")).toEqual({ "X-Key": "a:b" });
  });
});
