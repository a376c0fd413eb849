/**
 * An upstream: offers the functions that a module exports as `tools`, in the process of the gateway.
 *
 * { "mcpServers": { "own": { "driver": "./upstream.ts", "command": "./my-tools.mjs" } } }
 */
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { GatewayError, type JsonObject, type Progress, type ToolResult, textResult } from "toolpipe";
import { CONNECT_FAILED, UPSTREAM_CLOSED, type UpstreamDriver } from "toolpipe/services";

/** A function with what a model has to know of it. */
interface ToolFunction {
  readonly description?: string;
  readonly inputSchema?: JsonObject;
  run(args: JsonObject, context: ToolContext): unknown;
}

/** The context of a function, besides its arguments. */
interface ToolContext {
  /** Aborted when the answer is no longer awaited. */
  readonly signal: AbortSignal;
  report(progress: Progress): void;
  /** Tells the gateway that the tools have changed. */
  changed(): void;
}

export const upstream: UpstreamDriver = {
  async connect({ name, connection }, { events }) {
    if (connection.type !== "stdio")
      throw new GatewayError(CONNECT_FAILED, `"${name}" needs a "command": the module with its tools.`);
    const { tools } = await loadTools(name, resolve(connection.cwd ?? ".", connection.command));
    /** Ends the calls that wait for an answer. */
    const pending = new Set<() => void>();
    let isClosed = false;
    const closed = () => new GatewayError(UPSTREAM_CLOSED, `The connection to "${name}" is closed.`);

    return {
      info: { name },
      async list() {
        if (isClosed) throw closed();
        const definitions = Object.entries(tools).map(([tool, { description, inputSchema }]) => ({
          name: tool,
          description,
          inputSchema: inputSchema ?? { type: "object" },
        }));
        return { tools: definitions, rejected: [], resources: [], resourceTemplates: [], prompts: [] };
      },
      async call(tool, args, { cancellation, timeoutMs, onProgress = () => {} } = {}) {
        if (isClosed) throw closed();
        if (cancellation?.cancelled) throw cancellation.cancelled;
        const calling = new AbortController();
        const context = {
          signal: calling.signal,
          report: onProgress,
          changed: () => events.onListChanged?.(),
        };
        let fail: (error: unknown) => void = () => {};
        const over = new Promise<never>((_, reject) => {
          fail = reject;
        });
        const cancel = () => fail(cancellation?.cancelled);
        const close = () => fail(closed());
        const late = () => fail(timedOut(`${name}:${tool}`, timeoutMs));
        const timer = timeoutMs === undefined ? undefined : setTimeout(late, timeoutMs);
        cancellation?.onCancel(cancel);
        pending.add(close);
        try {
          return await Promise.race([run(tools[tool], args, context), over]);
        } finally {
          clearTimeout(timer);
          cancellation?.offCancel(cancel);
          pending.delete(close);
          calling.abort();
        }
      },
      async close() {
        isClosed = true;
        for (const end of pending) end();
      },
    };
  },
};

function timedOut(tool: string, ms: number | undefined): GatewayError {
  return new GatewayError("TIMEOUT", `"${tool}" did not answer within ${ms} ms.`, { data: { ms } });
}

async function loadTools(name: string, file: string): Promise<{ tools: Record<string, ToolFunction> }> {
  try {
    const { tools } = (await import(pathToFileURL(file).href)) as { tools: Record<string, ToolFunction> };
    return { tools: { ...tools } };
  } catch (cause) {
    throw new GatewayError(CONNECT_FAILED, `Cannot load the tools of "${name}" from ${file}.`, { cause });
  }
}

/** A tool that fails answers so: a rejection would mean that the connection failed. */
async function run(
  tool: ToolFunction | undefined,
  args: JsonObject,
  context: ToolContext,
): Promise<ToolResult> {
  if (!tool) return { ...textResult("There is no such tool."), isError: true };
  try {
    const answer = await tool.run(args, context);
    return textResult(typeof answer === "string" ? answer : JSON.stringify(answer));
  } catch (thrown) {
    return { ...textResult(thrown instanceof Error ? thrown.message : String(thrown)), isError: true };
  }
}
