// The plain way: a server and a client of the SDK, which knows the tools from a file and connects when one is called.
import { readFileSync } from "node:fs";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Server } from "@modelcontextprotocol/server";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";

interface Servers {
  readonly servers: Readonly<Record<string, { readonly command: string; readonly args: string[] }>>;
  readonly tools: readonly { readonly name: string }[];
}

const { servers, tools } = JSON.parse(readFileSync(process.argv[2] ?? "", "utf8")) as Servers;
const clients = new Map<string, Promise<Client>>();
const server = new Server({ name: "sdk relay", version: "1" }, { capabilities: { tools: {} } });
server.setRequestHandler("tools/list", () => ({ tools }) as never);
server.setRequestHandler("tools/call", async ({ params }) => {
  const client = await openClient(params.name.slice(params.name.lastIndexOf("_") + 1));
  return client.callTool({ name: params.name, arguments: params.arguments ?? {} }) as never;
});
await server.connect(new StdioServerTransport());
process.stdin.on("end", () => process.exit());

function openClient(name: string): Promise<Client> {
  let client = clients.get(name);
  if (!client) {
    client = connect(name);
    clients.set(name, client);
  }
  return client;
}

async function connect(name: string): Promise<Client> {
  const { command, args } = servers[name] ?? { command: "false", args: [] };
  const client = new Client({ name: "sdk relay", version: "1" });
  await client.connect(new StdioClientTransport({ command, args }));
  return client;
}
