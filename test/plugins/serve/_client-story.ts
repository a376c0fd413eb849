import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client as ModernClient, type Transport as ModernTransport } from "@modelcontextprotocol/client";
import { Client as LegacyClient } from "@modelcontextprotocol/sdk/client/index.js";
import type { Transport as LegacyTransport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { ToolListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { expect, onTestFinished } from "vitest";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));

/** A way to a gateway, as each SDK knows it. */
export interface Way {
  legacy(): LegacyTransport;
  modern(): ModernTransport;
}

/** The operations that all clients have. */
export interface Teller {
  tools(): Promise<string[]>;
  call(
    name: string,
    args: object,
    options?: {
      readonly onprogress?: (progress: { progress: number }) => void;
      readonly signal?: AbortSignal;
    },
  ): Promise<object>;
  /** How often it heard that the list is another one. */
  changes(): number;
}

/** Clients of both SDKs and protocols, each with what connects it until the test is over. */
export const tellers: readonly (readonly [which: string, connect: (way: Way) => Promise<Teller>])[] = [
  ["made with the older SDK", legacy],
  ["made with the newer SDK that asks which protocol it is", (way) => modern(way, "auto")],
  [
    "made with the newer SDK that knows only the modern protocol",
    (way) => modern(way, { pin: "2026-07-28" }),
  ],
  ["made with the newer SDK that speaks the legacy protocol", (way) => modern(way, "legacy")],
];

async function legacy(way: Way): Promise<Teller> {
  const client = new LegacyClient({ name: "legacy", version: "1.0.0" });
  let changes = 0;
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => void changes++);
  await client.connect(way.legacy());
  onTestFinished(() => client.close());
  return {
    tools: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: (name, args, options) =>
      client.callTool({ name, arguments: { ...args } }, undefined, { ...options }),
    changes: () => changes,
  };
}

async function modern(way: Way, mode: "auto" | "legacy" | { readonly pin: string }): Promise<Teller> {
  let changes = 0;
  const client = new ModernClient(
    { name: "modern", version: "1.0.0" },
    {
      versionNegotiation: { mode },
      listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: () => void changes++ } },
    },
  );
  await client.connect(way.modern());
  onTestFinished(() => client.close());
  expect(client.getProtocolEra()).toBe(mode === "legacy" ? "legacy" : "modern");
  return {
    tools: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: (name, args, options) => client.callTool({ name, arguments: { ...args } }, { ...options }),
    changes: () => changes,
  };
}

/** A home with a config that has a real server. */
export function homeOfEverything(): Promise<string> {
  const server = join(root, "node_modules/@modelcontextprotocol/server-everything/dist/index.js");
  const config = { mcpServers: { everything: { command: "node", args: [server, "stdio"] } } };
  return temporaryFolder({ "toolpipe.config.json": JSON.stringify(config) });
}

/** Finds and executes tools of that server, and makes the mistakes that one makes. */
export async function tellStory(client: Teller): Promise<void> {
  expect(await client.tools()).toEqual([
    "list_mcp_servers",
    "search_tools",
    "list_tools",
    "get_tool_details",
    "execute_tool",
  ]);
  const execute: (tool: string, args: object, options?: Parameters<Teller["call"]>[2]) => Promise<object> = (
    tool,
    args,
    options,
  ) => client.call("execute_tool", { server: "everything", tool, arguments: args }, options);
  expect(await execute("echo", { message: "hello" })).toMatchObject({
    content: [{ type: "text", text: "Echo: hello" }],
  });
  expect(JSON.stringify(await client.call("search_tools", { query: "echo" }))).toContain("echo");
  const seen: number[] = [];
  const onprogress = ({ progress }: { progress: number }): void => void seen.push(progress);
  await execute("trigger-long-running-operation", { duration: 0.3, steps: 3 }, { onprogress });
  // The newer SDK drops a notification that comes right before the answer, so the last one may be missing.
  expect(seen.slice(0, 2)).toEqual([1, 2]);
  expect(await execute("nothing", {})).toMatchObject({ isError: true });
  expect(JSON.stringify(await execute("get-tiny-image", {}))).toContain('"type":"image"');
  expect(await execute("get-structured-content", { location: "New York" })).toMatchObject({
    structuredContent: { temperature: expect.any(Number) },
  });
  await expect(client.call("nope", {})).rejects.toMatchObject({ code: -32601 });
  await expect(client.call("search_tools", {})).rejects.toMatchObject({ code: -32602 });
}
