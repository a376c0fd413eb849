import type { PassThrough } from "node:stream";

/** Creates a function that sends a request over streams and returns its result. */
export function createAsk({ input, output }: { readonly input: PassThrough; readonly output: PassThrough }) {
  let id = 0;
  return (method: string, params: object): Promise<unknown> => {
    const own = ++id;
    const answered = new Promise((resolve) => {
      let text = "";
      const read = (chunk: Buffer): void => {
        text += chunk;
        for (const line of text.split("\n").slice(0, -1)) {
          const message = JSON.parse(line) as { id?: number; result?: unknown };
          if (message.id !== own) continue;
          output.off("data", read);
          resolve(message.result);
        }
      };
      output.on("data", read);
    });
    input.write(`${JSON.stringify({ jsonrpc: "2.0", id: own, method, params })}\n`);
    return answered;
  };
}
