import process from "node:process";
import type { Readable, Writable } from "node:stream";
import type { LoadedConfig } from "../../core/mod.ts";
import { JsonRpcError, rpcCodes } from "../lib/jsonrpc.ts";
import { createLineReader } from "../lib/lines.ts";
import type { ClientLimits } from "./client/pending.ts";
import { errorMessage } from "./protocol/messages.ts";
import { createMcpServer } from "./protocol/server.ts";
import { type Reloadable, serveReloadable } from "./reloadable.ts";
import { createView } from "./view.ts";

/** The streams that carry the messages. */
export interface StdioStreams {
  readonly input: Readable;
  readonly output: Writable;
}

/** Options of {@link serveStdio}. */
export interface StdioOptions {
  /** Limits of what the client is asked while its requests run. */
  readonly clientLimits?: Partial<ClientLimits>;
}

/** A gateway served to the process that started us. */
export interface StdioServer extends Omit<Reloadable, "instructions"> {
  /** Resolves when the client has disconnected. */
  readonly ended: Promise<void>;
}

/** Limits of one message from a client. */
const limits = { maxBytes: 10_000_000, maxDepth: 128 };

/** Serves a gateway over standard input and output. Output carries the protocol and nothing else. */
export async function serveStdio(
  config: LoadedConfig,
  { input, output }: StdioStreams = { input: process.stdin, output: process.stdout },
  { clientLimits }: StdioOptions = {},
): Promise<StdioServer> {
  const view = createView();
  const served = await serveReloadable(view, config);
  let unsent = "";
  const flush = (): void => {
    const text = unsent;
    unsent = "";
    // A client that does not read must not make us keep everything it was sent.
    if (text !== "" && !output.write(text)) input.pause();
  };
  const send = (message: object): void => {
    // Messages of one moment are one write: each write is a system call.
    if (unsent === "") process.nextTick(flush);
    unsent += `${JSON.stringify(message)}\n`;
  };
  const server = createMcpServer({ view, instructions: served.instructions, limits: clientLimits });
  const connection = server.connect({ send });
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const refuse = (id: string | number | null, code: number, message: string): void =>
    send(errorMessage(id, new JsonRpcError(code, message)));

  const read = createLineReader(limits, {
    onLine(line) {
      let message: unknown;
      try {
        const text = decoder.decode(line);
        if (text.trim() === "") return;
        message = JSON.parse(text);
      } catch {
        return refuse(null, rpcCodes.parse, "This line is not JSON.");
      }
      connection.receive(message);
    },
    onRefused(reason, id) {
      const what = reason === "too-deep" ? "nested too deeply" : "too large";
      refuse(id ?? null, rpcCodes.invalidRequest, `This message is ${what}.`);
    },
  });
  input.on("data", read);
  output.on("drain", () => input.resume());
  // A client that has disconnected can be sent nothing any more.
  output.on("error", () => input.destroy());
  const ended = new Promise<void>((resolve) => {
    input.once("end", resolve);
    input.once("close", resolve);
  });
  const endInput = (): void => {
    connection.endInput();
    server.suspended.close();
  };
  // The client cannot answer any question now.
  ended.then(endInput);

  return {
    get gateway() {
      return served.gateway;
    },
    reload: served.reload,
    ended,
    async close(options) {
      input.off("data", read);
      endInput();
      connection.close();
      await served.close(options);
      await connection.settled();
      flush();
    },
  };
}
