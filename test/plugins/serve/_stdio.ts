import { PassThrough } from "node:stream";
import { onTestFinished } from "vitest";
import type { JsonObject, LoadedConfig } from "../../../core/mod.ts";
import { type StdioOptions, type StdioServer, serveStdio } from "../../../plugins/serve/mod.ts";

/** A client at the other end of two streams. */
export interface StdioClient {
  readonly server: StdioServer;
  readonly messages: readonly JsonObject[];
  /** The stream it writes to. */
  readonly input: PassThrough;
  write(text: string | Uint8Array): void;
  find(fits: (message: JsonObject) => boolean): Promise<JsonObject>;
  request(method: string, params?: object, id?: string | number): Promise<JsonObject>;
  notify(method: string, params?: object): void;
  /** Answers a request of the server. */
  answer(id: unknown, answer: object): void;
  /** Goes away. */
  end(): void;
}

/** Serves a config over two streams until the test is over. */
export async function connectStdio(config: LoadedConfig, options: StdioOptions = {}): Promise<StdioClient> {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const server = await serveStdio(config, { input, output }, options);
  onTestFinished(() => server.close({ drainMs: 0 }));
  const messages: JsonObject[] = [];
  const waiting: (() => void)[] = [];
  let rest = "";
  output.on("data", (chunk: Buffer) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    messages.push(...lines.map((line) => JSON.parse(line)));
    for (const tell of waiting.splice(0)) tell();
  });
  const write: StdioClient["write"] = (text) => void input.write(text);
  const find: StdioClient["find"] = async (fits) => {
    for (;;) {
      const found = messages.find(fits);
      if (found) return found;
      await new Promise<void>((resolve) => waiting.push(resolve));
    }
  };
  let ids = 0;
  return {
    server,
    messages,
    input,
    write,
    find,
    request(method, params, id = ++ids) {
      write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
      return find((message) => message["id"] === id);
    },
    answer: (id, answer) => write(`${JSON.stringify({ jsonrpc: "2.0", id, ...answer })}\n`),
    end: () => void input.end(),
    notify: (method, params) => write(`${JSON.stringify({ jsonrpc: "2.0", method, params })}\n`),
  };
}
