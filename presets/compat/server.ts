import process from "node:process";
import type { StdioStreams } from "../../plugins/serve/mod.ts";
import type { CompatEngine } from "./discovery-engine.ts";
import { toDiscoveryError } from "./errors.ts";

/**
 * Serves an engine to an agent over standard input and output: five tools in place of every definition.
 *
 * @example
 * ```ts
 * import { DEFAULT_CONFIG, DiscoveryEngine, MCPDiscoveryServer, ServerLifecycleManager } from "toolpipe/anygpt";
 *
 * const server = new MCPDiscoveryServer(new DiscoveryEngine(DEFAULT_CONFIG));
 * await new ServerLifecycleManager().start(server);
 * ```
 */
export class MCPDiscoveryServer {
  readonly #engine: CompatEngine;
  readonly #streams: StdioStreams | undefined;
  #ended: Promise<void> | undefined;

  /** Serves over the streams of the process unless others are given. */
  constructor(engine: CompatEngine, streams?: StdioStreams) {
    this.#engine = engine;
    this.#streams = streams;
  }

  /** Resolves when the agent has disconnected. */
  get ended(): Promise<void> {
    return this.#ended ?? Promise.resolve();
  }

  /** Starts to serve. Throws a `ConfigurationError` if the config cannot be used. */
  async start(): Promise<void> {
    if (this.#ended) return;
    try {
      this.#ended = (await this.#engine.serve(this.#streams)).ended;
    } catch (thrown) {
      throw toDiscoveryError(thrown);
    }
  }

  /** Takes no more requests, lets running calls finish, and closes every server. */
  async stop(): Promise<void> {
    this.#ended = undefined;
    await this.#engine.close();
  }
}

const signals = ["SIGINT", "SIGTERM"] as const;

/** Starts a server, and stops it when the process is asked to end or the agent disconnects. */
export class ServerLifecycleManager {
  #server: MCPDiscoveryServer | undefined;
  readonly #onSignal = (): void => void this.#shutDown();

  async start(server: MCPDiscoveryServer): Promise<void> {
    await server.start();
    this.#server = server;
    for (const signal of signals) process.on(signal, this.#onSignal);
    server.ended.then(() => this.stop()).catch(() => {});
  }

  /** Stops the server; a second call does nothing. */
  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    for (const signal of signals) process.off(signal, this.#onSignal);
    await server?.stop();
  }

  async #shutDown(): Promise<void> {
    await this.stop();
    process.exit(0);
  }
}
