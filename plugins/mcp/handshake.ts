import type { Client } from "@modelcontextprotocol/client";
import { LONGEST_TIMER_MS } from "../../core/hooks.ts";
import { type GatewayError, getAbortReason, isJsonObject, type JsonObject, version } from "../../core/mod.ts";
import { CONNECT_TIMEOUT, NEEDS_AUTH, SPAWN_FAILED, type UpstreamInfo } from "../../core/services/servers.ts";
import { connectError, connectTimeout, isAnswer, isClosed } from "./errors.ts";
import type { ConnectMcpOptions, McpTransport } from "./session.ts";

/** The message that opens a connection: `initialize` of the legacy protocol, or `discover` of the modern one. */
export type Opening = "initialize" | "discover";

/** The name and version that servers are told. */
const clientInfo: { readonly name: string; readonly version: string } = { name: "toolpipe", version };

/** Facts about a server that the next connection can use; plain JSON. */
export interface McpPrior {
  readonly protocol: "legacy" | "modern";
  readonly protocolVersion: string;
  /** The time of the handshake, as an ISO date. */
  readonly at: string;
}

interface HandshakeOptions
  extends Pick<
    ConnectMcpOptions,
    "name" | "prior" | "capabilities" | "signal" | "explain" | "startLimitMs" | "turns"
  > {
  readonly startTimeoutMs: number;
  readonly opening: Opening;
}

/** A server may learn the modern protocol at any time, so it is asked again after a week. */
const PRIOR_LASTS_MS = 7 * 24 * 3_600_000;
/** Failures that the other protocol would not change. */
const hopeless = new Set([SPAWN_FAILED.code, NEEDS_AUTH.code, CONNECT_TIMEOUT.code]);

/** Finds out which protocol a server speaks, and opens a connection. All attempts together have one deadline. */
export async function negotiate(
  newTransport: () => McpTransport,
  options: HandshakeOptions,
): Promise<{ client: Client; transport: McpTransport; prior: McpPrior }> {
  const { name, startTimeoutMs, opening, signal } = options;
  const prior = readPrior(options.prior);
  const tries = orderAttempts(opening, prior);
  const isFromPrior = tries[0] !== opening;
  const limitMs = options.startLimitMs ?? startTimeoutMs;
  const elapsed = (): number => performance.now() - (options.turns?.waitedMs ?? 0);
  const deadline = elapsed() + startTimeoutMs;
  let failure: GatewayError | undefined;
  for (const [index, first] of tries.entries()) {
    const left = deadline - elapsed();
    if (left <= 0) break;
    const transport = newTransport();
    try {
      const client = await open(transport, first, left, options);
      return { client, transport, prior: toPrior(client, index === 0 ? prior : undefined) };
    } catch (thrown) {
      const closing = transport.close().catch(() => {});
      if (signal?.aborted) {
        await closing;
        throw getAbortReason(signal);
      }
      // A process that is gone refuses the first message before it is known why it ended.
      if (isClosed(thrown)) await closing;
      const closeReason = transport.closeReason ?? (isClosed(thrown) ? transport.endReason : undefined);
      const error = connectError(thrown, { name, closeReason, explain: options.explain });
      // The first failure is the real one, unless it is due to a prior that is no longer true.
      if (failure === undefined || isFromPrior) failure = error;
      if (hopeless.has(error.code) || index === tries.length - 1) break;
      // A server that knows only the modern protocol answers with an error. Any other failure would come again.
      if (!isFromPrior && !isAnswer(thrown)) break;
      // Two processes of one server may block each other.
      await closing;
    }
  }
  throw failure ?? connectTimeout(name, limitMs);
}

/** Orders the attempts. A prior decides only which comes first: it may be wrong by now. */
function orderAttempts(opening: Opening, prior: McpPrior | undefined): readonly Opening[] {
  if (opening === "initialize") {
    return prior?.protocol === "modern" ? ["discover", "initialize"] : ["initialize", "discover"];
  }
  return prior?.protocol === "legacy" ? ["initialize", "discover"] : ["discover"];
}

async function open(
  transport: McpTransport,
  opening: Opening,
  timeoutMs: number,
  {
    name,
    signal,
    startTimeoutMs,
    startLimitMs = startTimeoutMs,
    capabilities = {},
    ...options
  }: HandshakeOptions,
): Promise<Client> {
  if (signal?.aborted) throw getAbortReason(signal);
  transport.prepare?.();
  // Takes a tenth of a second, so it is loaded with the first connection.
  const { Client } = await import("@modelcontextprotocol/client");
  if (signal?.aborted) throw getAbortReason(signal);
  const timeout = Math.max(1, Math.ceil(timeoutMs));
  const client = new Client(clientInfo, {
    capabilities,
    versionNegotiation: {
      mode: opening === "initialize" ? "legacy" : "auto",
      // An unanswered probe must leave time for the legacy handshake, which the SDK does not try over HTTP.
      probe: { timeoutMs: options.opening === "discover" ? timeout + 1_000 : Math.ceil(timeout / 2) },
    },
  });
  return await new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal && getAbortReason(signal));
    const { turns } = options;
    let waitedMs = turns?.waitedMs ?? 0;
    let timer = setTimeout(onTime, timeout);
    signal?.addEventListener("abort", onAbort, { once: true });
    client
      .connect(transport, { timeout: turns ? LONGEST_TIMER_MS : timeout + 1_000 })
      .then(() => resolve(client), reject)
      .finally(() => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", onAbort);
      });

    /** Waiting for a turn does not count. */
    function onTime(): void {
      const moreMs = Math.ceil((turns?.waitedMs ?? 0) - waitedMs);
      waitedMs = turns?.waitedMs ?? 0;
      if (moreMs > 0) timer = setTimeout(onTime, moreMs);
      else reject(connectTimeout(name, startLimitMs));
    }
  });
}

function toPrior(client: Client, prior: McpPrior | undefined): McpPrior {
  const protocol = client.getProtocolEra() ?? "legacy";
  // A legacy handshake says nothing about the modern protocol, so the date of the last probe stays.
  const at = protocol === "legacy" && prior?.protocol === protocol ? prior.at : new Date().toISOString();
  return { protocol, protocolVersion: client.getNegotiatedProtocolVersion() ?? "", at };
}

function readPrior(value: unknown): McpPrior | undefined {
  if (!isJsonObject(value)) return undefined;
  const { protocol, protocolVersion, at } = value;
  if ((protocol !== "legacy" && protocol !== "modern") || typeof protocolVersion !== "string")
    return undefined;
  const age = Date.now() - Date.parse(String(at));
  return age >= 0 && age < PRIOR_LASTS_MS ? { protocol, protocolVersion, at: String(at) } : undefined;
}

/** Creates the `_meta` that every message of the modern protocol carries. */
export function toEnvelope(client: Client, capabilities: Readonly<JsonObject> = {}): JsonObject {
  return {
    "io.modelcontextprotocol/protocolVersion": client.getNegotiatedProtocolVersion(),
    "io.modelcontextprotocol/clientInfo": clientInfo,
    "io.modelcontextprotocol/clientCapabilities": capabilities,
  };
}

/** Reads the facts about the server from the handshake. */
export function toInfo(client: Client): UpstreamInfo {
  const server = client.getServerVersion();
  return {
    name: server?.name,
    title: server?.title,
    version: server?.version,
    instructions: client.getInstructions(),
    protocolVersion: client.getNegotiatedProtocolVersion(),
    capabilities: client.getServerCapabilities() as JsonObject | undefined,
  };
}
