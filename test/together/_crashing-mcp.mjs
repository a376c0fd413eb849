// A server over stdio whose one tool writes a line to a file, and then ends its process as often as it is told.
import { appendFileSync, readFileSync } from "node:fs";
import process from "node:process";
import { createInterface } from "node:readline";

const [file, crashes, tool] = process.argv.slice(2);
const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "crashing", version: "1" },
  }),
  "tools/list": () => ({ tools: [{ name: tool, inputSchema: { type: "object" } }] }),
  "tools/call": () => {
    appendFileSync(file, `${process.pid}\n`);
    if (readFileSync(file, "utf8").split("\n").length - 1 <= Number(crashes)) process.exit(3);
    return { content: [{ type: "text", text: "survived" }] };
  },
};
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const answer = answers[method];
  const error = { code: -32601, message: "There is no such method." };
  const body = answer ? { result: answer(params ?? {}) } : { error };
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, ...body })}\n`);
});
