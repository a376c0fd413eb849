import type { IncomingMessage, ServerResponse } from "node:http";
import {
  type Actor,
  type Gateway,
  GatewayError,
  isJsonObject,
  type JsonObject,
  localUser,
} from "../../../core/mod.ts";
import type { SessionHomes } from "../../../core/services/http.ts";
import { type MessageLimits, readJson } from "../../lib/http/server-request.ts";
import { HttpRefusal, notAllowed, refuse } from "../../lib/jsonrpc.ts";
import { addTraceHeaders } from "../../lib/telemetry.ts";
import { takeAnswer } from "../client/legacy.ts";
import { findOwnState, toHomeId } from "../client/questions.ts";
import { modernVersions } from "../protocol/messages.ts";
import { createMcpServer, type McpServerOptions } from "../protocol/server.ts";
import { createSessions, Session } from "../protocol/session.ts";
import { answerRequests, type HttpExchange, LISTEN, openStream } from "./exchange.ts";
import { checkLegacyVersion, createArgumentHeaderCheck, getHeader } from "./headers.ts";
import { readMessages } from "./messages.ts";
import { createReply, parseAccept, type ReplyLimits } from "./reply.ts";
import type { SlowBodies } from "./slow-bodies.ts";

interface EndpointOptions extends Pick<McpServerOptions, "view" | "instructions"> {
  /** The gateway that is served now. */
  readonly gateway: () => Gateway;
  /** Throws a {@link HttpRefusal} if a request is for another address, or from the page of another site. */
  readonly check: (request: IncomingMessage) => void;
  /** The caller; the local user by default. Rejects with a {@link HttpRefusal} if the caller is not known. */
  readonly authenticate?: ((request: IncomingMessage) => Promise<Actor>) | undefined;
  readonly limits: MessageLimits &
    ReplyLimits & { readonly streamsPerCaller: number; readonly slowBodies: SlowBodies };
  readonly clientLimits?: McpServerOptions["limits"];
}

/** Answers HTTP requests to one address. */
export interface Endpoint {
  handle(request: IncomingMessage, response: ServerResponse): void;
  /** Takes no more requests, and ends the streams that only carry notifications. */
  close(): void;
  /** Resolves once every answer has been sent. */
  settled(): Promise<void>;
}

/** The caller of a request, and the id of its session. */
interface Caller {
  readonly id: string | undefined;
  readonly actor: Actor;
}

const SESSION = "mcp-session-id";
/** A client that is told so begins another session. */
const NO_SESSION = "There is no such session. Begin another one.";

/**
 * Creates the endpoint of MCP, for clients of all protocol versions. The id of a session tells which legacy client
 * cancels a request, and what that client declared. An id from before a restart is refused, as the protocol says, so that
 * the client begins another session: without its capabilities, a call that asks its user would be made unasked.
 */
export function createEndpoint(options: EndpointOptions): Endpoint {
  const { gateway, check, authenticate, limits, clientLimits, view, instructions } = options;
  const sessions = createSessions();
  const server = createMcpServer({
    view,
    instructions,
    limits: clientLimits,
    onSuspend: async (state) => gateway().services.sessions?.begin(toHomeId(state), server.limits.answerMs),
  });
  const exchanges = new Map<HttpExchange, Promise<void>>();
  const checkArguments = createArgumentHeaderCheck(gateway, view);
  let isClosing = false;

  return {
    handle(request, response) {
      serve(request, response).catch((thrown) => {
        if (!(thrown instanceof HttpRefusal)) gateway().report(GatewayError.from(thrown));
        return refuse(request, response, thrown);
      });
    },
    close() {
      isClosing = true;
      for (const exchange of exchanges.keys()) exchange.close();
      server.suspended.close();
    },
    async settled() {
      await Promise.all(exchanges.values());
    },
  };

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    check(request);
    const actor = (await authenticate?.(request)) ?? localUser;
    const id = getHeader(request.headers, SESSION);
    if (sessions.isForeign(id, actor.id)) throw new HttpRefusal(404, NO_SESSION);
    const homes = gateway().services.sessions;
    const isUnknown = id !== undefined && sessions.get(id) === undefined;
    if (homes && isUnknown && (await isForwarded(homes, id, request, response))) return;
    if (request.method === "GET") return stream(request, response, { id, actor });
    const accepted = parseAccept(request.headers.accept);
    const body = await limits.slowBodies.read(actor.id, request, () => readJson(request, limits));
    const known = sessions.get(id) ?? new Session();
    const { requests, modern } = readMessages(body, request.headers, {
      answer: (answer) => takeAnswer(answer, known),
      cancel: (params) => cancel({ id, actor }, params),
      check: (message) => checkArguments(message, request.headers),
    });
    const isBegun = !modern && requests[0]?.method === "initialize";
    if (!modern && !isBegun) checkKnown(id);
    if (requests.length === 0) return void response.writeHead(202).end();
    const { has } = server.suspended;
    if (homes && modern && (await isResumedElsewhere(homes, body, has, request, response))) return;
    checkOpen();
    const begun = isBegun ? sessions.begin(actor.id) : undefined;
    if (begun) await homes?.begin(begun.id);
    if (requests.some(({ method }) => method === LISTEN)) checkStreams(actor);
    const reply = createReply(response, accepted, limits, begun && { [SESSION]: begun.id });
    const session = begun?.session ?? known;
    const exchange = { server, reply, id, actor, session, canAsk: accepted.stream };
    const traced = requests.map((one) => addTraceHeaders(one, request.headers));
    track(response, answerRequests(traced, Array.isArray(body), modern, exchange));
  }

  function cancel(caller: Caller, params: unknown): void {
    if (!isJsonObject(params)) return;
    for (const exchange of exchanges.keys()) {
      if (isSameCaller(exchange, caller)) exchange.cancel(params["requestId"]);
    }
  }

  function stream({ headers }: IncomingMessage, response: ServerResponse, caller: Caller): void {
    checkOpen();
    const accepted = parseAccept(headers.accept);
    if (!accepted.stream) throw new HttpRefusal(406, "Notifications come as text/event-stream. Accept that.");
    const version = getHeader(headers, "mcp-protocol-version");
    if (modernVersions.includes(String(version))) throw notAllowed("POST");
    checkLegacyVersion(version);
    checkKnown(caller.id);
    for (const other of exchanges.keys()) {
      // No notification may be sent twice; a client that opens another stream has lost the first one.
      if (isSameCaller(other, caller) && other.isStream) other.close();
    }
    checkStreams(caller.actor);
    const reply = createReply(response, accepted, limits);
    track(response, openStream({ ...caller, server, reply, session: sessions.get(caller.id) }));
  }

  function track(response: ServerResponse, exchange: HttpExchange): void {
    if (response.closed) {
      exchange.end();
      return;
    }
    const done = new Promise<void>((resolve) => {
      response.once("close", () => {
        exchanges.delete(exchange);
        exchange.end();
        resolve();
      });
    });
    exchanges.set(exchange, done);
  }

  /** Refuses a session that ended, or was begun before a restart. Clients need not have one. */
  function checkKnown(id: string | undefined): void {
    if (id !== undefined && !sessions.get(id)) throw new HttpRefusal(404, NO_SESSION);
  }

  /** Limits the streams that only carry notifications: each holds a connection until its client ends it. */
  function checkStreams(actor: Actor): void {
    let open = 0;
    for (const exchange of exchanges.keys()) {
      if (exchange.carriesNotices && exchange.actor === actor.id) open++;
    }
    if (open < limits.streamsPerCaller) return;
    throw new HttpRefusal(429, `There may be ${limits.streamsPerCaller} streams of one caller at most.`, {
      reason: "OVERLOADED",
      headers: { "retry-after": "5" },
    });
  }

  function checkOpen(): void {
    if (isClosing)
      throw new HttpRefusal(503, "The gateway is closing.", { headers: { connection: "close" } });
  }
}

/** Clients without a session cannot be told apart. */
function isSameCaller({ session, actor }: HttpExchange, caller: Caller): boolean {
  return session !== undefined && session === caller.id && actor === caller.actor.id;
}

/** Whether a session is at another replica, which has answered then. The modern protocol has no sessions. */
async function isForwarded(
  homes: SessionHomes,
  session: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<boolean> {
  const version = getHeader(request.headers, "mcp-protocol-version");
  if (modernVersions.includes(String(version))) return false;
  const routed = await homes.route(session, request, response);
  if (routed === "gone") throw new HttpRefusal(404, NO_SESSION);
  if (routed === "lost") {
    throw new HttpRefusal(502, "The gateway that has this session ended before it answered.");
  }
  return routed === "answered";
}

/** Whether the call that a client resumes is suspended at another replica, which has answered then. */
async function isResumedElsewhere(
  homes: SessionHomes,
  body: unknown,
  isHere: (state: string) => boolean,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<boolean> {
  const { params } = body as JsonObject;
  const state = isJsonObject(params) ? findOwnState(params) : undefined;
  if (state === undefined || isHere(state)) return false;
  const routed = await homes.route(toHomeId(state), request, response, JSON.stringify(body));
  if (routed === "lost") {
    throw new HttpRefusal(502, "The gateway where this call waited ended before it answered.");
  }
  return routed === "answered";
}
