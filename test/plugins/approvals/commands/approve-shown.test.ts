// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables are texts here until a server is connected
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { place } from "../../../support/place.ts";
import { runMain } from "../../../support/run-cli.ts";

describe("the summary before an approval", () => {
  const secrets = {
    docs: {
      command: "npx",
      args: [
        "-y",
        "server",
        "--api-key",
        "CANARY1",
        "--token=CANARY2",
        "--header",
        "Authorization: Bearer CANARY3",
        "--env=GITHUB_TOKEN=CANARY4",
        "postgres://me:CANARY5@db.local/x",
        "https://host.local/sse?api_key=CANARY6&x=1",
        "two words",
      ],
      env: { GITHUB_TOKEN: "CANARY7", OTHER: "${HOME}/x${SECOND:-CANARY8}" },
      cwd: "sub",
      envFile: ".env",
    },
    remote: {
      type: "http",
      url: "https://me:CANARY9@remote.local/mcp?key=CANARY10",
      headers: { "X-Key": "CANARY11", Authorization: "Bearer ${REMOTE_TOKEN}" },
    },
  };

  test("is the command or the URL and the names of all that it sets and reads, and no value", async () => {
    const { project } = await place({ project: { ".mcp.json": { mcpServers: secrets } } });
    const file = join(project, ".mcp.json");
    const waits = (name: string) =>
      `It is defined in the project file ${file}, and it has not been approved yet. Approve it with: toolpipe approve ${name}`;
    const { code, stdout, stderr } = await runMain(["approve"]);
    expect(stdout).toBe(`docs
  Runs: npx -y server --api-key … --token=… --header 'Authorization: …' --env=GITHUB_TOKEN=… postgres://db.local/x https://host.local/sse?… 'two words'
  In the folder: sub
  Sets the variables: GITHUB_TOKEN, OTHER
  Sets the variables of the file: .env
  Reads your variables: HOME, SECOND
  Local files, approved with it: ${join(project, ".env")}
  ${waits("docs")}

remote
  Connects to: https://remote.local/mcp?…
  Sends the headers: X-Key, Authorization
  Reads your variables: REMOTE_TOKEN
  ${waits("remote")}
`);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  });

  test("is the same as JSON", async () => {
    const { project } = await place({ project: { ".mcp.json": { mcpServers: secrets } } });
    const { stdout } = await runMain(["approve", "--json"]);
    expect(stdout).not.toContain("CANARY");
    expect(JSON.parse(stdout).waiting).toEqual([
      {
        name: "docs",
        command: expect.stringMatching(/^npx -y server --api-key … /),
        cwd: "sub",
        envFile: ".env",
        variables: ["GITHUB_TOKEN", "OTHER"],
        headers: [],
        reads: ["HOME", "SECOND"],
        files: [join(project, ".env")],
        file: join(project, ".mcp.json"),
        reason: expect.stringContaining("it has not been approved yet"),
      },
      {
        name: "remote",
        url: "https://remote.local/mcp?…",
        variables: [],
        headers: ["X-Key", "Authorization"],
        reads: ["REMOTE_TOKEN"],
        file: join(project, ".mcp.json"),
        reason: expect.stringContaining("it has not been approved yet"),
      },
    ]);
  });

  test("no command prints a secret of a definition", async () => {
    await place({ project: { ".mcp.json": { mcpServers: secrets } } });
    for (const args of [
      ["list", "--status"],
      ["list", "--json"],
      ["why", "docs"],
      ["why", "remote"],
      ["tools"],
      ["refresh"],
      ["search", "x"],
      ["config", "sources", "--json"],
      ["config", "validate"],
      ["execute", "docs", "x"],
      ["login", "remote"],
    ]) {
      const { stdout, stderr } = await runMain(args);
      expect([args, `${stdout}${stderr}`]).toEqual([args, expect.not.stringContaining("CANARY")]);
    }
  });
});
