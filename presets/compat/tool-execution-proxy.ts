import { GatewayError } from "../../core/mod.ts";
import { CONNECT_FAILED } from "../../core/services/servers.ts";
import { findServerError } from "../../plugins/lib/servers.ts";
import {
  createDiscoveryEngine,
  type DiscoveryEngine,
  type ExecutionEvent,
  type ExecutionResult,
} from "../anygpt/mod.ts";
import { ensureListed } from "../shared/meta-tools.ts";
import { ServerConnectionError, toDiscoveryError } from "./errors.ts";
import type { CompatExecutionResult, MCPServerConfig } from "./types.ts";

/**
 * Executes tools of servers that it is given. A server is connected by `connect` or by the first call of one of its
 * tools, and again after its connection has ended; idle connections are closed after five minutes.
 *
 * @example
 * ```ts
 * import { ToolExecutionProxy } from "toolpipe/anygpt";
 *
 * const proxy = new ToolExecutionProxy();
 * await proxy.connect("github", { command: "npx", args: ["-y", "@modelcontextprotocol/server-github"] });
 * const { success, result, error } = await proxy.execute("github", "create_issue", { title: "Bug" });
 * await proxy.disconnect("github");
 * ```
 */
export class ToolExecutionProxy {
  readonly #configs = new Map<string, MCPServerConfig>();
  readonly #engines = new Map<string, Promise<DiscoveryEngine>>();
  /** Engines that are open, for the answer of {@link isConnected}. */
  readonly #open = new Map<string, DiscoveryEngine>();

  /** Takes servers that are connected when they are used. */
  constructor(servers: Readonly<Record<string, MCPServerConfig>> = {}) {
    for (const [name, config] of Object.entries(servers)) this.#configs.set(name, config);
  }

  /** Connects to a server, in place of one of the same name. Throws a `ServerConnectionError` if that fails. */
  async connect(server: string, config: MCPServerConfig): Promise<void> {
    await this.disconnect(server);
    this.#configs.set(server, config);
    const failure = await this.#openConnection(server).catch((thrown: unknown) => GatewayError.from(thrown));
    if (!failure) return;
    const { message, data, code } = failure;
    throw new ServerConnectionError(message, { server, details: { ...data, code }, cause: failure });
  }

  /** Ends the connection to a server, after its running calls. */
  async disconnect(server: string): Promise<void> {
    const opening = this.#engines.get(server);
    this.#engines.delete(server);
    this.#open.delete(server);
    await (await opening?.catch(() => undefined))?.close();
  }

  isConnected(server: string): boolean {
    return this.#open.get(server)?.gateway.services.servers?.status(server)?.status === "connected";
  }

  /** Executes a tool. A failure is in the outcome. */
  // biome-ignore lint/suspicious/noExplicitAny: the type of the specification
  async execute(server: string, tool: string, args: any): Promise<CompatExecutionResult> {
    const engine = await this.#find(server, tool);
    return "success" in engine ? engine : engine.executeTool(server, tool, args);
  }

  /** Executes a tool and yields its progress, and at last the outcome. */
  async *executeStream(
    server: string,
    tool: string,
    // biome-ignore lint/suspicious/noExplicitAny: the type of the specification
    args: any,
  ): AsyncGenerator<ExecutionEvent, undefined, undefined> {
    const engine = await this.#find(server, tool);
    if ("success" in engine) yield { type: "result", ...engine };
    else yield* engine.executeStream(server, tool, args);
  }

  async #find(server: string, tool: string): Promise<DiscoveryEngine | ExecutionResult> {
    const fail = (code: string, message: string): ExecutionResult => ({
      success: false,
      error: { code, message, server, tool },
    });
    if (!this.#configs.has(server))
      return fail("TOOL_NOT_FOUND", `There is no server "${server}". Connect to it first.`);
    try {
      const engine = await this.#openEngine(server);
      await ensureListed(engine.gateway, server);
      return engine;
    } catch (thrown) {
      return fail("TOOL_EXECUTION_ERROR", toDiscoveryError(thrown).message);
    }
  }

  async #openEngine(server: string): Promise<DiscoveryEngine> {
    let opening = this.#engines.get(server);
    if (!opening) {
      const connection = { type: "stdio", ...this.#configs.get(server) };
      opening = createDiscoveryEngine({ servers: [{ name: server, connection }] });
      this.#engines.set(server, opening);
      opening.catch(() => this.#engines.delete(server));
    }
    const engine = await opening;
    if (this.#engines.get(server) === opening) this.#open.set(server, engine);
    return engine;
  }

  /** Connects a server, also one whose cached listing is fresh. Returns the reason if that fails. */
  async #openConnection(server: string): Promise<GatewayError | undefined> {
    const { gateway } = await this.#openEngine(server);
    const { servers } = gateway.services;
    await servers?.refresh(server);
    const status = servers?.status(server);
    if (status?.status === "connected") return undefined;
    const { reason = `The server "${server}" is not connected.` } = status ?? {};
    return findServerError(gateway, server) ?? new GatewayError(CONNECT_FAILED, reason, { data: { server } });
  }
}
