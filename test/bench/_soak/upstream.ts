// A server of a few tools that go right or wrong as they are told, without any library.
const name = process.argv.at(-1) ?? "one";
const object = { type: "object" };
const reads = { readOnlyHint: true };
const tools = [
  {
    name: "echo",
    description: `Says what the server ${name} is told`,
    inputSchema: { ...object, properties: { text: { type: "string" } }, required: ["text"] },
    annotations: reads,
  },
  { name: "pause", description: "Answers after a moment", inputSchema: object, annotations: reads },
  { name: "never", description: "Never answers", inputSchema: object, annotations: reads },
  { name: "change", description: "Changes something, and never notifies", inputSchema: object },
  { name: "fail", description: "Answers that it did not work", inputSchema: object },
  { name: "refuse", description: "Answers with an error of the protocol", inputSchema: object },
  {
    name: "huge",
    description: "Answers with as many bytes as it is told",
    inputSchema: { ...object, properties: { bytes: { type: "integer" } }, required: ["bytes"] },
    annotations: reads,
  },
  { name: "crash", description: "Ends the server", inputSchema: object },
];

interface Request {
  readonly id?: number | string;
  readonly method: string;
  readonly params?: Params;
}

interface Params {
  readonly protocolVersion?: string;
  readonly name?: string;
  readonly arguments?: { readonly text?: string; readonly bytes?: number };
}

let rest = "";
process.stdin.setEncoding("utf8").on("data", (chunk: string) => {
  const lines = (rest + chunk).split("\n");
  rest = lines.pop() ?? "";
  for (const line of lines) receive(JSON.parse(line));
});
process.stdin.on("end", () => process.exit(0));

function receive({ id, method, params = {} }: Request): void {
  if (id === undefined) return;
  if (method === "initialize") {
    const { protocolVersion } = params;
    answer(id, { protocolVersion, capabilities: { tools: {} }, serverInfo: { name, version: "1" } });
  } else if (method === "tools/list") answer(id, { tools });
  else if (method === "tools/call") call(id, params);
  else send({ id, error: { code: -32601, message: "Method not found" } });
}

function call(id: number | string, { name: tool, arguments: args = {} }: Params): void {
  const { text = "", bytes = 0 } = args;
  if (tool === "echo") answer(id, createText(text));
  else if (tool === "pause") setTimeout(() => answer(id, createText("a moment later")), 100);
  else if (tool === "fail") answer(id, { ...createText("It did not work."), isError: true });
  else if (tool === "refuse") send({ id, error: { code: -32000, message: "No." } });
  else if (tool === "huge") answer(id, createText("0123456789 abcdef\n".repeat(bytes / 18)));
  else if (tool === "crash") process.exit(3);
}

function createText(text: string): object {
  return { content: [{ type: "text", text }] };
}

function answer(id: number | string, result: object): void {
  send({ id, result });
}

function send(message: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
}

export {};
