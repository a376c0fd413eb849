import type { ChildProcess } from "node:child_process";

interface Message {
  readonly id?: number;
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}

/** A client over a process's input and output that can take a request back. */
export function stdioAsk(child: ChildProcess): {
  ask(method: string, params: object, signal?: AbortSignal): Promise<unknown>;
} {
  const waiting = new Map<number, (message: Message) => void>();
  let last = 0;
  let parts: string[] = [];
  child.stdout?.setEncoding("utf8").on("data", (chunk: string) => {
    const [head = "", ...lines] = chunk.split("\n");
    parts.push(head);
    for (const line of lines) {
      const message = JSON.parse(parts.join("")) as Message;
      parts = [line];
      waiting.get(message.id ?? -1)?.(message);
    }
  });
  child.stdin?.on("error", () => {});
  child.once("exit", () => {
    for (const hear of waiting.values()) hear({ error: { message: "The gateway has ended." } });
  });
  const write = (message: object): void => {
    child.stdin?.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  };
  return {
    ask(method, params, signal) {
      const id = ++last;
      return new Promise((resolve, reject) => {
        const takeBack = (): void => {
          write({ method: "notifications/cancelled", params: { requestId: id } });
          // By the protocol, a request that was taken back is not answered.
          hear({ error: { message: "It was taken back." } });
        };
        const hear = ({ result, error }: Message): void => {
          waiting.delete(id);
          signal?.removeEventListener("abort", takeBack);
          if (error) reject(new Error(error.message));
          else resolve(result);
        };
        waiting.set(id, hear);
        signal?.addEventListener("abort", takeBack);
        write({ id, method, params });
      });
    },
  };
}
