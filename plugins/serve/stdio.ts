import process from "node:process";
import type { Readable, Writable } from "node:stream";
import type { Gateway, LoadedConfig } from "../../core/mod.ts";
import { lineReader } from "../upstreams/lines.ts";
import type { AskLimits } from "./_served-client.ts";
import { createTalk } from "./_talk.ts";
import { createFront } from "./front.ts";
import { createPeer } from "./peer.ts";
import { RpcError, rpcCodes, rpcErrorOf } from "./protocol.ts";
import { serveReloadable } from "./reloadable.ts";

/** Where messages come from and go to. */
export interface StdioStreams {
  readonly input: Readable;
  readonly output: Writable;
}

/** How a gateway is served over standard input and output. */
export interface StdioOptions {
  /** Bounds of what the client is asked while its requests are under way. */
  readonly asking?: Partial<AskLimits>;
}

/** A gateway that is served to the process that started us. */
export interface StdioServer {
  /** The gateway that is served now. */
  readonly gateway: Gateway;
  /** Serves another config from now on. If that cannot be set up, it rejects and everything stays as it was. */
  reload(config: LoadedConfig): Promise<void>;
  /** Resolves when the client has gone. */
  readonly ended: Promise<void>;
  /** Lets the calls on their way finish for up to `drainMs`, then ends everything. */
  close(options?: { readonly drainMs?: number }): Promise<void>;
}

/** What one message from a client may be. */
const limits = { maxBytes: 10_000_000, maxDepth: 128 };

/** Serves a gateway over standard input and output. Output carries the protocol and nothing else. */
export async function serveStdio(
  config: LoadedConfig,
  { input, output }: StdioStreams = { input: process.stdin, output: process.stdout },
  { asking }: StdioOptions = {},
): Promise<StdioServer> {
  const front = createFront();
  const served = await serveReloadable(front, config);
  let unsent = "";
  const flush = (): void => {
    const text = unsent;
    unsent = "";
    // A client that does not read must not make us keep everything it was sent.
    if (text !== "" && !output.write(text)) input.pause();
  };
  const send = (message: object): void => {
    // What is said at one moment is one write: each is a call of the system.
    if (unsent === "") process.nextTick(flush);
    unsent += `${JSON.stringify(message)}\n`;
  };
  const talk = createTalk(asking);
  const peer = createPeer({ front, send, talk, instructions: served.instructions });
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const refuse = (id: string | number | null, code: number, message: string): void =>
    send({ jsonrpc: "2.0", id, error: rpcErrorOf(new RpcError(code, message)) });

  const read = lineReader(limits, {
    onLine(line) {
      let message: unknown;
      try {
        const text = decoder.decode(line);
        if (text.trim() === "") return;
        message = JSON.parse(text);
      } catch {
        return refuse(null, rpcCodes.parse, "This line is not JSON.");
      }
      peer.receive(message);
    },
    onRefused(reason, id) {
      const what = reason === "too-deep" ? "nested too deeply" : "too large";
      refuse(id ?? null, rpcCodes.invalidRequest, `This message is ${what}.`);
    },
  });
  input.on("data", read);
  output.on("drain", () => input.resume());
  // A client that has gone cannot be told anything any more.
  output.on("error", () => input.destroy());
  const ended = new Promise<void>((resolve) => {
    input.once("end", resolve);
    input.once("close", resolve);
  });
  const hush = (): void => {
    peer.hush();
    talk.suspended.close();
  };
  // Nobody is left who could answer.
  ended.then(hush);

  return {
    get gateway() {
      return served.gateway;
    },
    reload: served.reload,
    ended,
    async close(options) {
      input.off("data", read);
      hush();
      peer.close();
      await served.close(options);
      await peer.settled();
      flush();
    },
  };
}
