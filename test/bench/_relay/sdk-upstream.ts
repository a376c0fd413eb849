// The same fifty tools by the SDK's server, as nearly every server has them.
import { Server } from "@modelcontextprotocol/server";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { toolsOf } from "./tools.ts";

const tools = toolsOf(process.argv[2] ?? "one");
const server = new Server({ name: "bench", version: "1" }, { capabilities: { tools: {} } });
server.setRequestHandler("tools/list", () => ({ tools }) as never);
server.setRequestHandler("tools/call", ({ params }) => ({
  content: [{ type: "text", text: String(params.arguments?.["text"] ?? "") }],
}));
await server.connect(new StdioServerTransport());
process.stdin.on("end", () => process.exit());
