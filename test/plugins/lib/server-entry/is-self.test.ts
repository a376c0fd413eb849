// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables are texts here until a server is connected
import { describe, expect, test } from "vitest";
import type { Connection } from "../../../../core/services/sources.ts";
import { isSelf } from "../../../../plugins/lib/server-entry/is-self.ts";

function run(...[command = "", ...args]: readonly string[]): Connection {
  return { type: "stdio", command, args, env: {} };
}

describe("is this gateway itself", () => {
  test.for([
    [["toolpipe"]],
    [["/usr/local/bin/toolpipe", "serve"]],
    [["C:\\Users\\ada\\toolpipe.cmd", "serve"]],
    [["anygpt", "mcp"]],
    [["npx", "toolpipe"]],
    [["npx", "-y", "toolpipe@latest", "serve"]],
    [["npx.cmd", "--yes", "toolpipe@1.2.3"]],
    [["npx", "-y", "@anygpt/discovery"]],
    [["npx", "-p", "toolpipe", "toolpipe", "serve"]],
    [["npx", "--package=toolpipe@2", "-y", "anything"]],
    [["pnpm", "dlx", "toolpipe"]],
    [["yarn", "dlx", "toolpipe"]],
    [["npm", "exec", "toolpipe"]],
    [["bunx", "toolpipe"]],
    [["bun", "x", "toolpipe"]],
    [["deno", "run", "-A", "npm:toolpipe@1", "serve"]],
    [["node", "/opt/app/node_modules/toolpipe/dist/plugins/cli/toolpipe.js", "serve"]],
    [["node", "--import", "x.js", "./dist/plugins/cli/anygpt.js"]],
    [["node", "C:\\dist\\plugins\\cli\\toolpipe.js"]],
    [["node", "/path/to/anygpt/packages/mcp-discovery/dist/index.js"]],
    [["deno", "run", "-A", "plugins/cli/toolpipe.ts"]],
    [["docker", "run", "-i", "--rm", "anygpt/discovery"]],
    [["docker", "run", "-i", "--rm", "-e", "KEY", "ghcr.io/user/toolpipe:1.0"]],
    [["cmd", "/c", "npx", "-y", "toolpipe"]],
    [["sh", "-c", "exec npx -y toolpipe serve"]],
    [["env", "A=1", "npx", "toolpipe"]],
    [["/usr/bin/env", "-i", "A=1", "sh", "-c", "npx toolpipe"]],
  ] as const)("%j", ([line]) => {
    expect(isSelf(run(...line))).toBe(true);
  });
});

describe("is another server", () => {
  test.for([
    [["npx", "-y", "@modelcontextprotocol/server-filesystem", "/home/ada/toolpipe"]],
    [["npx", "-y", "@modelcontextprotocol/server-filesystem", "toolpipe"]],
    [["npx", "-y", "toolpipe-extras"]],
    [["npx", "-y", "@other/toolpipe-server"]],
    [["node", "/home/ada/toolpipe/server.js"]],
    [["node", "/work/toolpipe/node_modules/server-everything/dist/index.js", "stdio"]],
    [["python", "toolpipe"]],
    [["docker", "run", "-i", "--rm", "--name", "toolpipe", "mcp/time"]],
    [["docker", "run", "-i", "--rm", "-v", "/toolpipe:/data", "mcp/time"]],
    [["docker", "mcp", "gateway", "run"]],
    [["docker", "exec", "toolpipe", "server"]],
    [["sh", "-c", "cd toolpipe && node server.js"]],
    [["sh"]],
    [["env"]],
    [[""]],
  ] as const)("%j", ([line]) => {
    expect(isSelf(run(...line))).toBe(false);
  });
});

test("a URL is this gateway's if it is one of its own, also behind a bridge", () => {
  const own = ["http://127.0.0.1:4000/mcp"];
  const at = (url: string): Connection => ({ type: "http", url, headers: {} });
  expect(isSelf(at("http://127.0.0.1:4000/mcp"), own)).toBe(true);
  expect(isSelf(at("http://127.0.0.1:4000/mcp/?session=1"), own)).toBe(true);
  expect(isSelf(run("npx", "mcp-remote", "http://127.0.0.1:4000/mcp"), own)).toBe(true);
  expect(isSelf(at("http://127.0.0.1:4001/mcp"), own)).toBe(false);
  expect(isSelf(at("http://127.0.0.1:4000/other"), own)).toBe(false);
  expect(isSelf(at("${URL}"), own)).toBe(false);
  expect(isSelf(at("http://127.0.0.1:4000/mcp"))).toBe(false);
});

test("a hostile command line is answered at once", () => {
  const began = performance.now();
  expect(isSelf({ ...run("sh"), args: new Array(300_000).fill("sh") } as Connection)).toBe(false);
  expect(isSelf(run("node", "/anygpt/".repeat(100_000)))).toBe(false);
  expect(performance.now() - began).toBeLessThan(10_000);
});
