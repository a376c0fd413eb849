import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client as ModernClient } from "@modelcontextprotocol/client";
import { StdioClientTransport as ModernTransport } from "@modelcontextprotocol/client/stdio";
import { Client as LegacyClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as LegacyTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { homeOfEverything, tellers, tellStory } from "./_client-story.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));

/** How a client starts the command, with a home of its own. */
function command(home: string): { command: string; args: string[]; env: Record<string, string> } {
  const isDeno = "Deno" in globalThis;
  const bin = isDeno
    ? ["run", "-A", join(root, "plugins/cli/toolpipe.ts")]
    : [join(root, "dist/plugins/cli/toolpipe.js")];
  return {
    command: process.execPath,
    args: [...bin, "serve", "--config", join(home, "toolpipe.config.json")],
    env: { PATH: String(process.env["PATH"]), HOME: home, TOOLPIPE_HOME: join(home, "own") },
  };
}

test.each(tellers)(
  "a client %s finds and executes tools of a real server",
  async (_which, connect) => {
    const started = { ...command(await homeOfEverything()), stderr: "ignore" as const };
    const client = await connect({
      legacy: () => new LegacyTransport(started),
      modern: () => new ModernTransport(started),
    });
    await tellStory(client);
  },
  60_000,
);

test("a user is asked by way of a client of either protocol before something is deleted", async () => {
  const server = join(root, "node_modules/@modelcontextprotocol/server-memory/dist/index.js");
  const home = await temporaryFolder({});
  const config = {
    preset: "gateway",
    mcpServers: {
      memory: {
        command: "node",
        args: [server],
        env: { MEMORY_FILE_PATH: join(home, "memory.jsonl") },
      },
    },
  };
  await writeFile(join(home, "toolpipe.config.json"), JSON.stringify(config));
  const started = { ...command(home), stderr: "ignore" as const };
  const remove = {
    name: "gateway.execute",
    arguments: { tool_id: "memory:delete_entities", params: { entityNames: ["unknown"] } },
  };
  const answers = [{ action: "decline" }, { action: "accept", content: { confirm: true } }];
  const info = { name: "asking", version: "1.0.0" };

  const older = new LegacyClient(info, { capabilities: { elicitation: {} } });
  const asked: string[] = [];
  const say = (message: string): never => {
    asked.push(message);
    return answers[(asked.length - 1) % 2] as never;
  };
  older.setRequestHandler(ElicitRequestSchema, async ({ params }) => say(params.message));
  await older.connect(new LegacyTransport(started));
  expect(JSON.stringify(await older.callTool(remove))).toContain("did not agree");
  expect(JSON.stringify(await older.callTool(remove))).toContain("Entities deleted");
  await older.close();

  const newer = new ModernClient(info, {
    versionNegotiation: { mode: { pin: "2026-07-28" } },
    capabilities: { elicitation: { form: {} } },
  });
  newer.setRequestHandler("elicitation/create", async ({ params }) => say(params.message));
  await newer.connect(new ModernTransport(started));
  expect(JSON.stringify(await newer.callTool(remove))).toContain("did not agree");
  expect(JSON.stringify(await newer.callTool(remove))).toContain("Entities deleted");
  await newer.close();
  expect(asked).toHaveLength(4);
}, 60_000);
