// The floor: a relay without any library, which knows the tools from a file and passes lines on.
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";

interface Servers {
  readonly servers: Readonly<Record<string, { readonly command: string; readonly args: readonly string[] }>>;
  readonly tools: readonly { readonly name: string }[];
}

interface Message {
  id?: number | string;
  readonly method?: string;
  readonly params?: { readonly name?: string };
}

const { servers, tools } = JSON.parse(readFileSync(process.argv[2] ?? "", "utf8")) as Servers;
const children = new Map<string, ChildProcess>();
const asked = new Map<number, number | string>();
let last = 0;

lines(process.stdin, (message) => {
  const { id, method, params } = message;
  if (id === undefined) return;
  if (method === "initialize") {
    const serverInfo = { name: "raw relay", version: "1" };
    return answer(id, { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo });
  }
  if (method === "tools/list") return answer(id, { tools });
  const name = params?.name ?? "";
  const child = startChild(name.slice(name.lastIndexOf("_") + 1));
  message.id = ++last;
  asked.set(last, id);
  child.stdin?.write(`${JSON.stringify(message)}\n`);
});

function startChild(server: string): ChildProcess {
  let child = children.get(server);
  if (child) return child;
  const { command, args } = servers[server] ?? { command: "false", args: [] };
  child = spawn(command, [...args], { stdio: ["pipe", "pipe", "inherit"] });
  children.set(server, child);
  child.stdin?.write(`${JSON.stringify({ jsonrpc: "2.0", id: 0, method: "initialize", params: {} })}\n`);
  lines(child.stdout as NodeJS.ReadableStream, (message) => {
    const id = asked.get(message.id as number);
    if (id === undefined) return;
    asked.delete(message.id as number);
    message.id = id;
    process.stdout.write(`${JSON.stringify(message)}\n`);
  });
  return child;
}

function answer(id: number | string, result: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, result })}\n`);
}

function lines(stream: NodeJS.ReadableStream, receive: (message: Message) => void): void {
  let rest = "";
  stream.setEncoding("utf8").on("data", (chunk: string) => {
    const found = (rest + chunk).split("\n");
    rest = found.pop() ?? "";
    for (const line of found) receive(JSON.parse(line) as Message);
  });
}
process.stdin.on("end", () => process.exit());
