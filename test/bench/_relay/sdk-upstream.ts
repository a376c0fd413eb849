// Lists the fifty tools with the SDK's server, as nearly every server does.
import { Server } from "@modelcontextprotocol/server";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { createTools } from "./tools.ts";

const tools = createTools(process.argv[2] ?? "one");
const server = new Server({ name: "bench", version: "1" }, { capabilities: { tools: {} } });
server.setRequestHandler("tools/list", () => ({ tools }) as never);
server.setRequestHandler("tools/call", ({ params }) => ({
  content: [{ type: "text", text: String(params.arguments?.["text"] ?? "") }],
}));
await server.connect(new StdioServerTransport());
process.stdin.on("end", () => process.exit());
