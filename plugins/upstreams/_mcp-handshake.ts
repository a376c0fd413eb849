import type { Client } from "@modelcontextprotocol/client";
import { cancelledBy, type GatewayError, isJsonObject, type JsonObject, version } from "../../core/mod.ts";
import { connectError, connectTimeout, isAnswer } from "./_mcp-errors.ts";
import { CONNECT_TIMEOUT, NEEDS_AUTH, SPAWN_FAILED } from "./errors.ts";
import type { McpTransport } from "./mcp.ts";

/** Which message opens a connection: that of the older era, or that of the newer one. */
export type Opening = "initialize" | "discover";

/** Who servers are told that they are connected to. */
export const clientInfo: { readonly name: string; readonly version: string } = { name: "toolpipe", version };

/** What was found out about a server: plain JSON. */
export interface McpPrior {
  readonly era: "legacy" | "modern";
  readonly protocolVersion: string;
  /** When it was found out, as an ISO date. */
  readonly at: string;
}

/** What the handshake needs to know. */
export interface HandshakeOptions {
  readonly name: string;
  readonly startTimeoutMs: number;
  readonly opening: Opening;
  readonly prior?: unknown;
  /** What a server may ask of whoever its requests are made for; nothing by default. */
  readonly capabilities?: Readonly<JsonObject> | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly explain?: ((thrown: unknown) => GatewayError | undefined) | undefined;
}

/** A connection that both sides agree on. */
export interface Handshake {
  readonly client: Client;
  readonly transport: McpTransport;
  readonly prior: McpPrior;
}

/** A server may learn the newer era at any time; it is asked again after a week. */
const PRIOR_LASTS_MS = 7 * 24 * 3_600_000;
/** What the other era would not change. */
const hopeless = new Set([SPAWN_FAILED.code, NEEDS_AUTH.code, CONNECT_TIMEOUT.code]);

/** Finds out which era a server speaks, and opens a connection in it. All tries together have one deadline. */
export async function negotiate(
  newTransport: () => McpTransport,
  options: HandshakeOptions,
): Promise<Handshake> {
  const { name, startTimeoutMs, opening, signal } = options;
  const prior = readPrior(options.prior);
  const tries = plan(opening, prior);
  const remembered = tries[0] !== opening;
  const deadline = performance.now() + startTimeoutMs;
  let failure: GatewayError | undefined;
  for (const [index, first] of tries.entries()) {
    const left = deadline - performance.now();
    if (left <= 0) break;
    const transport = newTransport();
    try {
      const client = await open(transport, first, left, options);
      return { client, transport, prior: learned(client, index === 0 ? prior : undefined) };
    } catch (thrown) {
      const closing = transport.close().catch(() => {});
      if (signal?.aborted) {
        await closing;
        throw cancelledBy(signal);
      }
      const { closeReason } = transport;
      const error = connectError(thrown, { name, closeReason, explain: options.explain });
      // The first reason is the real one, unless what was remembered is to blame for it.
      if (failure === undefined || remembered) failure = error;
      if (hopeless.has(error.code) || index === tries.length - 1) break;
      // A server that knows only the newer era says so. One that does anything else has other troubles.
      if (!remembered && !isAnswer(thrown)) break;
      // Two processes of one server may stand in each other's way.
      await closing;
    }
  }
  throw failure ?? connectTimeout(name, startTimeoutMs);
}

/** What to try, in order. What is remembered decides only what comes first: it may be wrong by now. */
function plan(opening: Opening, prior: McpPrior | undefined): readonly Opening[] {
  if (opening === "initialize") {
    return prior?.era === "modern" ? ["discover", "initialize"] : ["initialize", "discover"];
  }
  return prior?.era === "legacy" ? ["initialize", "discover"] : ["discover"];
}

async function open(
  transport: McpTransport,
  opening: Opening,
  timeoutMs: number,
  { name, signal, startTimeoutMs, capabilities = {} }: HandshakeOptions,
): Promise<Client> {
  if (signal?.aborted) throw cancelledBy(signal);
  transport.prepare?.();
  // Costs a tenth of a second, so nobody pays for it who connects to nothing.
  const { Client } = await import("@modelcontextprotocol/client");
  if (signal?.aborted) throw cancelledBy(signal);
  const timeout = Math.max(1, Math.ceil(timeoutMs));
  const client = new Client(clientInfo, {
    capabilities,
    versionNegotiation: {
      mode: opening === "initialize" ? "legacy" : "auto",
      // Where the question stays unanswered, time must be left to ask the other one.
      probe: { timeoutMs: Math.ceil(timeout / 2) },
    },
  });
  return await new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal && cancelledBy(signal));
    const timer = setTimeout(() => reject(connectTimeout(name, startTimeoutMs)), timeout);
    signal?.addEventListener("abort", onAbort, { once: true });
    client
      .connect(transport, { timeout: timeout + 1_000 })
      .then(() => resolve(client), reject)
      .finally(() => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", onAbort);
      });
  });
}

function learned(client: Client, prior: McpPrior | undefined): McpPrior {
  const era = client.getProtocolEra() ?? "legacy";
  // That a server knows the older era says nothing new of the newer one: this must be asked again some day.
  const at = era === "legacy" && prior?.era === era ? prior.at : new Date().toISOString();
  return { era, protocolVersion: client.getNegotiatedProtocolVersion() ?? "", at };
}

function readPrior(value: unknown): McpPrior | undefined {
  if (!isJsonObject(value)) return undefined;
  const { era, protocolVersion, at } = value;
  if ((era !== "legacy" && era !== "modern") || typeof protocolVersion !== "string") return undefined;
  const age = Date.now() - Date.parse(String(at));
  return age >= 0 && age < PRIOR_LASTS_MS ? { era, protocolVersion, at: String(at) } : undefined;
}
