import type { Transport } from "@modelcontextprotocol/client";
import {
  cancelledBy,
  type GatewayError,
  type JsonObject,
  type Progress,
  type ToolResult,
} from "../../core/mod.ts";
import { envelopeOf, infoOf } from "./_client-info.ts";
import { type DirectCalls, directCalls, withContent } from "./_direct-calls.ts";
import { faultOf } from "./_foreign-json.ts";
import { logLevel } from "./_log-level.ts";
import { connectionEnded, requestError, requestTimeout } from "./_mcp-errors.ts";
import { type McpPrior, negotiate, type Opening } from "./_mcp-handshake.ts";
import { type Capabilities, readLists } from "./_mcp-lists.ts";
import { owned } from "./_owner.ts";
import { rawResults } from "./_raw-results.ts";
import { levelOf, paramsOf } from "./_request-params.ts";
import { serverRequests } from "./_server-requests.ts";
import { keepSubscribed, watchEach } from "./_subscription.ts";
import type { StdioTransport } from "./stdio-transport.ts";
import type { Upstream, UpstreamCallOptions, UpstreamEvents, UpstreamRequestOptions } from "./upstream.ts";

export type { McpPrior } from "./_mcp-handshake.ts";

/** A transport that can say why it ended. */
export interface McpTransport extends Transport, Partial<Pick<StdioTransport, "exchange" | "prepare">> {
  /** Completes "because"; absent while it is open, and where there is nothing to say. */
  readonly closeReason?: string | undefined;
}

/** How a server is connected to. */
export interface ConnectMcpOptions {
  /** The name of the server, for messages. */
  readonly name: string;
  /** The handshake must be over after this long; 10,000 by default. */
  readonly startTimeoutMs?: number | undefined;
  readonly events?: UpstreamEvents | undefined;
  /** What a server of the older era is told that clients can be asked for; nothing by default. */
  readonly capabilities?: Readonly<JsonObject> | undefined;
  /** What an earlier connection remembered, read from wherever it was kept. Anything unusable is ignored. */
  readonly prior?: unknown;
  /**
   * Which era is tried first where nothing is remembered: `initialize` costs a server of the older era nothing,
   * and is the default; `discover` is right where both can be tried on one connection, as over HTTP.
   */
  readonly opening?: Opening | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Says what an error of the transport means, where it has errors of its own. */
  readonly explain?: ((thrown: unknown) => GatewayError | undefined) | undefined;
}

/** A connection to an MCP server. */
export interface McpUpstream extends Upstream {
  /** What is worth remembering for the next connection; JSON. */
  readonly prior: McpPrior;
}

const LIST_MS = 30_000;
const CALL_MS = 60_000;
/** What nobody waits for longer. */
const EXTRA_MS = 5_000;
const LONGEST_MS = 2 ** 31 - 1;
const SETTLE_MS = 100;
const listChanges = [
  "notifications/tools/list_changed",
  "notifications/prompts/list_changed",
  "notifications/resources/list_changed",
] as const;
/** Connects to an MCP server of either era. The factory is called again where a second try needs a fresh transport. */
export async function connectMcp(
  newTransport: () => McpTransport,
  options: ConnectMcpOptions,
): Promise<McpUpstream> {
  const { name, events = {} } = options;
  const { client, transport, prior } = await negotiate(newTransport, {
    ...options,
    startTimeoutMs: options.startTimeoutMs ?? 10_000,
    opening: options.opening ?? "initialize",
  });
  const modern = prior.era === "modern";
  const raw = rawResults(transport, { modern });
  const mirrored = new Map<string, { name: string; inputSchema: JsonObject }>();
  const watched = new Set<string>();
  const life = new AbortController();
  const direct = directly();
  let settling: ReturnType<typeof setTimeout> | undefined;
  let closed = false;
  let closing: Promise<void> | undefined;

  client.onclose = () => {
    life.abort();
    clearTimeout(settling);
    if (!closed) events.onClosed?.(transport.closeReason ?? "the server ended the connection");
    direct?.end(() => connectionEnded({ name, closeReason: transport.closeReason }));
  };
  for (const method of listChanges) client.setNotificationHandler(method, onListChanged);
  serverRequests(transport, {
    name,
    capabilities: modern ? {} : (options.capabilities ?? {}),
    owners: (id) => [...raw.owners(id), ...(direct?.owners() ?? [])],
    hear: (method, params) => direct?.hear(method, params) === true,
    onResourceUpdated: (uri) => events.onResourceUpdated?.(uri),
  });
  const subscription = keepSubscribed(client, life.signal, onListChanged);
  const atLeast = logLevel((level) =>
    client.request({ method: "logging/setLevel", params: { level } }, anything, { timeout: EXTRA_MS }),
  );

  return {
    info: infoOf(client),
    prior,
    async list({ signal, timeoutMs = LIST_MS } = {}) {
      const capabilities = (client.getServerCapabilities() ?? {}) as Capabilities;
      const listing = await guarded(timeoutMs, signal, (inner) =>
        readLists(
          (method, params, ms) =>
            raw.take(params, (marked) =>
              client.request({ method, params: marked }, anything, requestOptions(ms, inner)),
            ),
          capabilities,
          timeoutMs,
        ),
      );
      remember(listing.tools);
      return listing;
    },
    call(tool, args, callOptions = {}) {
      const { timeoutMs = CALL_MS } = callOptions;
      if (direct) return callDirectly(direct, tool, args, callOptions, timeoutMs);
      const { signal } = callOptions;
      return guarded(timeoutMs, signal, (inner) =>
        call(tool, args, callOptions, requestOptions(timeoutMs, inner)),
      );
    },
    request(method, params, given = {}) {
      const { signal, timeoutMs = CALL_MS } = given;
      return guarded(timeoutMs, signal, async (inner) => {
        await hearOf(given);
        const result = await owned(given.client, (owner) =>
          raw.take(
            paramsOf(params, given, modern),
            (marked) =>
              client.request({ method, params: marked }, anything, requestOptions(timeoutMs, inner)),
            owner,
          ),
        );
        const fault = faultOf(result);
        if (fault) throw fault;
        return result;
      });
    },
    watch: (uris) =>
      modern
        ? subscription.watch(uris)
        : watchEach(uris, watched, (method, uri) =>
            guarded(LIST_MS, undefined, (inner) =>
              client.request({ method, params: { uri } }, anything, requestOptions(LIST_MS, inner)),
            ),
          ),
    close() {
      closed = true;
      closing ??= Promise.allSettled([client.close(), transport.close()]).then(() => {});
      return closing;
    },
  };

  async function call(
    tool: string,
    args: JsonObject,
    options: UpstreamCallOptions,
    limits: RequestLimits,
  ): Promise<ToolResult> {
    const { onProgress } = options;
    const toolDefinition = mirrored.get(tool);
    await hearOf(options);
    const given = paramsOf({ name: tool, arguments: args }, options, modern);
    const result = await owned(options.client, (owner) =>
      raw.take(
        given,
        (params) =>
          client.callTool(params as { name: string }, {
            ...limits,
            ...(onProgress ? { onprogress: (progress) => onProgress(progress as Progress) } : {}),
            ...(toolDefinition ? { toolDefinition: toolDefinition as never } : {}),
          }),
        owner,
      ),
    );
    const fault = faultOf(result);
    if (fault) throw fault;
    return withContent(result);
  }

  function callDirectly(
    calls: DirectCalls,
    tool: string,
    args: JsonObject,
    options: UpstreamCallOptions,
    timeoutMs: number,
  ): Promise<ToolResult> {
    const send = (): Promise<ToolResult> => {
      checkOpen(options);
      return calls.call(paramsOf({ name: tool, arguments: args }, options, modern), options, timeoutMs);
    };
    try {
      checkOpen(options);
      const hearing = hearOf(options);
      return hearing ? hearing.then(send) : send();
    } catch (thrown) {
      return Promise.reject(thrown);
    }
  }

  /** Where a process is behind it: over HTTP the client does much besides. */
  function directly(): DirectCalls | undefined {
    const { exchange } = transport;
    if (!exchange) return undefined;
    const timeoutMs = 0;
    return directCalls({
      transport: { exchange, send: (message) => transport.send(message) },
      envelope: modern ? envelopeOf(client, options.capabilities) : undefined,
      explain: (thrown) => requestError(thrown, { name, timeoutMs, closeReason: transport.closeReason }),
      late: (ms) => requestTimeout(name, ms),
    });
  }

  /** A server of the older era is told once how much its clients want to hear, and not with each request. */
  function hearOf(given: UpstreamRequestOptions): Promise<void> | undefined {
    const level = modern || !client.getServerCapabilities()?.logging ? undefined : levelOf(given);
    return level === undefined ? undefined : atLeast(level);
  }

  function checkOpen(options: Pick<UpstreamCallOptions, "cancellation" | "signal">): void {
    const { cancellation } = options;
    if (cancellation?.cancelled) throw cancellation.cancelled;
    if (!cancellation && options.signal?.aborted) throw cancelledBy(options.signal);
    if (life.signal.aborted || closed) {
      throw connectionEnded({ name, closeReason: transport.closeReason }, { sent: false });
    }
  }

  /** Runs a request and says in our terms what became of it. */
  async function guarded<T>(
    timeoutMs: number,
    signal: AbortSignal | undefined,
    run: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    checkOpen({ signal });
    // The server is told that a request is taken back, not why: that may be none of its business.
    const inner = new AbortController();
    const onAbort = (): void => inner.abort("The caller no longer needs it.");
    signal?.addEventListener("abort", onAbort, { once: true });
    try {
      return await run(inner.signal);
    } catch (thrown) {
      const { closeReason } = transport;
      throw requestError(thrown, { name, signal, timeoutMs, closeReason, explain: options.explain });
    } finally {
      signal?.removeEventListener("abort", onAbort);
    }
  }

  /** The newer era wants some arguments repeated in headers; the client does so for the tools it is told of. */
  function remember(tools: readonly { name: string; inputSchema: JsonObject }[]): void {
    mirrored.clear();
    if (!modern) return;
    for (const { name: tool, inputSchema } of tools) {
      if (JSON.stringify(inputSchema).includes('"x-mcp-header"'))
        mirrored.set(tool, { name: tool, inputSchema });
    }
  }

  /** Servers that register tools one by one announce each of them. */
  function onListChanged(): void {
    clearTimeout(settling);
    if (life.signal.aborted || closed) return;
    settling = setTimeout(() => events.onListChanged?.(), SETTLE_MS);
  }
}

/** A schema that takes every result: what is in it is checked where it is used. */
const anything = {
  "~standard": { version: 1 as const, vendor: "toolpipe", validate: (value: unknown) => ({ value }) },
};

interface RequestLimits {
  readonly timeout: number;
  readonly signal: AbortSignal;
}

function requestOptions(timeoutMs: number, signal: AbortSignal): RequestLimits {
  return { timeout: Math.min(Math.ceil(timeoutMs), LONGEST_MS), signal };
}
