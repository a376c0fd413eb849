import type { MessageExtraInfo, RequestId, Transport } from "@modelcontextprotocol/client";
import { followSignal, type GatewayError, type JsonObject, type ToolResult } from "../../core/mod.ts";
import type {
  Listing,
  RequestTurns,
  Upstream,
  UpstreamEvents,
  UpstreamListOptions,
  UpstreamRequestOptions,
} from "../../core/services/servers.ts";
import { findJsonFault } from "../lib/json.ts";
import { wasAnswered } from "./errors.ts";
import { type McpPrior, negotiate, type Opening, toEnvelope, toInfo } from "./handshake.ts";
import { type Capabilities, readLists } from "./lists.ts";
import { completeParams, createLogLevel, getLogLevel } from "./request-params.ts";
import { createRequests, type RequestInit } from "./requests.ts";
import { receiveServerRequests } from "./server-requests.ts";
import { keepSubscribed, watchEach } from "./subscription.ts";

export type { McpPrior } from "./handshake.ts";

/** A transport of the SDK, or one of ours, which knows more. It may call `onmessage` with a {@link MessageInfo}. */
export interface McpTransport extends Transport {
  /** Reason for the end of the connection; completes "because". Absent while it is open or if none is known. */
  readonly closeReason?: string | undefined;
  /** Reason for which the server ended by itself, known at the latest once `close` is over. */
  readonly endReason?: string | undefined;
  /** Whether it ends a request when the `requestSignal` that it was sent with is aborted. */
  readonly endsBySignal?: boolean | undefined;
  /** Time at which the server last sent anything, message or not, on the clock of `performance.now()`. */
  readonly heardAt?: number | undefined;
  /** Begins to start, so that the server gets ready while the SDK is loaded. */
  prepare?(): void;
}

/** Facts about a message that came in. */
export interface MessageInfo extends MessageExtraInfo {
  /** The request that the message came on the stream of. */
  readonly related?: RequestId | undefined;
}

/** Options of a connection to an MCP server. */
export interface ConnectMcpOptions {
  /** The name of the server, for messages. */
  readonly name: string;
  /** The handshake must be over after this long; 10,000 by default. */
  readonly startTimeoutMs?: number | undefined;
  /** The limit that a timeout of the handshake names; `startTimeoutMs` by default. */
  readonly startLimitMs?: number | undefined;
  /** The lists must be read after this long; 30,000 by default. */
  readonly listTimeoutMs?: number | undefined;
  /** Rate limit of the connection. Waiting for a turn counts in no time limit. */
  readonly turns?: RequestTurns | undefined;
  readonly events?: UpstreamEvents | undefined;
  /** The capabilities of clients that a server of the legacy protocol is told of; none by default. */
  readonly capabilities?: Readonly<JsonObject> | undefined;
  /** The `prior` of an earlier connection, read from a cache. Anything unusable is ignored. */
  readonly prior?: unknown;
  /**
   * The protocol that is tried first where nothing is known: `initialize` costs a legacy server nothing, and is the
   * default; `discover` is right where both can be tried on one connection, as over HTTP.
   */
  readonly opening?: Opening | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Explains an error of the transport, where it has errors of its own. */
  readonly explain?: ((thrown: unknown) => GatewayError | undefined) | undefined;
  /** Returns the HTTP headers that a call of a tool needs besides the usual ones. */
  readonly createHeaders?:
    | ((tool: string, args: JsonObject) => Record<string, string> | undefined)
    | undefined;
}

/** A connection to an MCP server. */
export interface McpUpstream extends Upstream {
  /** Facts about the server that make the next connection faster; JSON. */
  readonly prior: McpPrior;
}

const START_MS = 10_000;
const LIST_MS = 30_000;
const CALL_MS = 60_000;
const LOG_LEVEL_MS = 5_000;
const SETTLE_MS = 100;
const MAX_SETTLE_MS = 1_000;
const listChanges = [
  "notifications/tools/list_changed",
  "notifications/prompts/list_changed",
  "notifications/resources/list_changed",
] as const;

/**
 * Connects to an MCP server of either protocol. The SDK's client connects, negotiates and listens; requests are ours. The
 * factory is called again where a second attempt needs a fresh transport.
 */
export async function connectMcp(
  newTransport: () => McpTransport,
  options: ConnectMcpOptions,
): Promise<McpUpstream> {
  const { name, explain, events = {} } = options;
  const { client, transport, prior } = await negotiate(newTransport, {
    ...options,
    startTimeoutMs: options.startTimeoutMs ?? START_MS,
    opening: options.opening ?? "initialize",
  });
  const isModern = prior.protocol === "modern";
  const serverCapabilities = (client.getServerCapabilities() ?? {}) as Capabilities;
  const envelope = isModern ? toEnvelope(client, options.capabilities) : undefined;
  const requests = createRequests({ name, transport, envelope, explain, turns: options.turns });
  const receiveFromServer = receiveServerRequests({
    name,
    capabilities: isModern ? {} : (options.capabilities ?? {}),
    requests,
    send: (message) => transport.send(message),
    onResourceUpdated: (uri) => events.onResourceUpdated?.(uri),
  });
  const deliver = transport.onmessage;
  let heardAt = performance.now();
  transport.onmessage = (message, extra?: MessageInfo) => {
    heardAt = performance.now();
    if (requests.receive(message) || receiveFromServer(message, extra?.related)) return;
    // The SDK takes far longer for it, and a server may send thousands.
    if (!isModern && isListChange(message)) return onListChanged();
    deliver?.(message, extra);
  };

  const life = new AbortController();
  const watched = new Set<string>();
  let settling: ReturnType<typeof setTimeout> | undefined;
  let changedAt: number | undefined;
  let isClosed = false;
  let closing: Promise<void> | undefined;
  client.onclose = () => {
    if (!isClosed) events.onClosed?.(transport.closeReason ?? "the server ended the connection");
    end();
  };
  for (const method of listChanges) client.setNotificationHandler(method, onListChanged);
  const subscription = keepSubscribed(client, life.signal, onListChanged);
  /** A legacy server is told once how much its clients want to hear; a modern one with each request. */
  const raiseLogLevel =
    isModern || !serverCapabilities["logging"]
      ? undefined
      : createLogLevel((level) => ask("logging/setLevel", { level }, LOG_LEVEL_MS));

  return {
    info: toInfo(client),
    prior,
    list,
    call(tool, args, given = {}) {
      return sendFor(given, {
        method: "tools/call",
        params: { name: tool, arguments: args },
        timeoutMs: given.timeoutMs ?? CALL_MS,
        headers: options.createHeaders?.(tool, args),
        options: given,
        read: toToolResult,
      });
    },
    request(method, params, given = {}) {
      return sendFor(given, {
        method,
        params: { ...params },
        timeoutMs: given.timeoutMs ?? CALL_MS,
        options: given,
        read: checkResult,
      });
    },
    watch: (uris) =>
      isModern
        ? subscription.watch(uris)
        : watchEach(uris, watched, (method, uri) => ask(method, { uri }, LIST_MS)),
    heardAt: () => transport.heardAt ?? heardAt,
    // The modern protocol has no ping, and every server answers this.
    ping: (timeoutMs) =>
      ask(isModern ? "server/discover" : "ping", {}, timeoutMs).then(ignore, (thrown) => {
        if (!wasAnswered(thrown)) throw thrown;
      }),
    close() {
      isClosed = true;
      end();
      closing ??= Promise.allSettled([client.close(), transport.close()]).then(() => {});
      return closing;
    },
  };

  async function list({
    signal,
    timeoutMs = options.listTimeoutMs ?? LIST_MS,
    turns,
  }: UpstreamListOptions = {}): Promise<Listing> {
    const { cancellation, stop } = followSignal(signal);
    try {
      return await readLists({
        async read(method, params, ms) {
          await turns?.take();
          return ask(method, params, ms, { options: { cancellation }, limitMs: timeoutMs });
        },
        capabilities: serverCapabilities,
        timeoutMs,
        waitedMs: () => (turns ?? options.turns)?.waitedMs ?? 0,
      });
    } finally {
      stop();
    }
  }

  /** Makes a request of the gateway itself. */
  function ask(
    method: string,
    params: JsonObject,
    timeoutMs: number,
    more?: Pick<RequestInit<JsonObject>, "options" | "limitMs">,
  ): Promise<JsonObject> {
    return requests.send({ method, params, timeoutMs, ...more, isOwn: true, read: (result) => result });
  }

  /** Makes a request for a caller, once the server knows its log level. */
  function sendFor<T>(given: UpstreamRequestOptions, request: RequestInit<T>): Promise<T> {
    completeParams(request.params, given, isModern);
    const level = raiseLogLevel && getLogLevel(given);
    if (level === undefined || !raiseLogLevel) return requests.send(request);
    return raiseLogLevel(level).then(() => requests.send(request));
  }

  /** Servers that register tools one by one announce each of them; one that never stops is heard once a second. */
  function onListChanged(): void {
    if (life.signal.aborted) return;
    const now = performance.now();
    changedAt ??= now;
    if (settling && now - changedAt > MAX_SETTLE_MS - SETTLE_MS) return;
    clearTimeout(settling);
    settling = setTimeout(() => {
      settling = undefined;
      changedAt = undefined;
      events.onListChanged?.();
    }, SETTLE_MS);
  }

  function end(): void {
    life.abort();
    clearTimeout(settling);
    requests.end();
  }
}

function ignore(): void {}

function isListChange(message: object): boolean {
  return "method" in message && listChanges.some((method) => method === message.method);
}

/** Refuses a result that reaches a prototype or is nested too deep. */
function checkResult(result: JsonObject): JsonObject {
  const fault = findJsonFault(result);
  if (fault) throw fault;
  return result;
}

/** Adds the `content` that callers count on. */
function toToolResult(given: JsonObject): ToolResult {
  const result = checkResult(given);
  return Array.isArray(result["content"]) ? (result as JsonObject & ToolResult) : { ...result, content: [] };
}
