// A server of fifty tools without any library, so that what is measured is the relay and not the server. Where
// BENCH_TALLY names a file, it holds a line for every time that a server was asked for its tools.
import { appendFileSync } from "node:fs";
import { createTools } from "./tools.ts";

const tools = createTools(process.argv[2] ?? "one");
let rest = "";
process.stdin.setEncoding("utf8").on("data", (chunk: string) => {
  const lines = (rest + chunk).split("\n");
  rest = lines.pop() ?? "";
  for (const line of lines) receive(JSON.parse(line));
});

interface Request {
  readonly id?: number | string;
  readonly method: string;
  readonly params?: { readonly arguments?: { readonly text?: string } };
}

function receive({ id, method, params }: Request): void {
  if (id === undefined) return;
  const result = createResult(method, params);
  const error = { code: -32601, message: `There is no method ${method}.` };
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, ...(result ? { result } : { error }) })}\n`);
}

function createResult(method: string, params: Request["params"]): object | undefined {
  switch (method) {
    case "initialize":
      return {
        protocolVersion: "2025-11-25",
        capabilities: { tools: {} },
        serverInfo: { name: "bench", version: "1" },
      };
    case "tools/list":
      if (process.env["BENCH_TALLY"]) appendFileSync(process.env["BENCH_TALLY"], "asked\n");
      return { tools };
    case "tools/call":
      return { content: [{ type: "text", text: params?.arguments?.text ?? "" }] };
    default:
      return undefined;
  }
}
