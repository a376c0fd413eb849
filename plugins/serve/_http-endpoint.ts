import type { IncomingMessage, ServerResponse } from "node:http";
import {
  type Actor,
  type Catalog,
  type Gateway,
  GatewayError,
  isJsonObject,
  type JsonObject,
  localUser,
} from "../../core/mod.ts";
import type { SessionHomes } from "../replicas/session-homes.ts";
import { withTraceHeaders } from "../telemetry/trace-context.ts";
import { checkLegacyVersion, claimsModern, headerOf, isModern, type Message } from "./_http-era.ts";
import { answering, type Exchange, telling } from "./_http-exchange.ts";
import { checkParams, type MirroredParam, mirroredParams } from "./_http-params.ts";
import { malformed, notAllowed, Refusal, refuse } from "./_http-refusal.ts";
import { acceptedOf, createReply, type ReplyLimits } from "./_http-reply.ts";
import { type MessageLimits, readJson } from "./_http-request.ts";
import { ownStateOf, placeOfState } from "./_input.ts";
import type { AskLimits } from "./_served-client.ts";
import { createSession, createSessions, type Session } from "./_session.ts";
import { createTalk } from "./_talk.ts";
import type { PeerParts } from "./peer.ts";
import { modernVersions } from "./protocol.ts";

/** What an endpoint is made of. */
export interface EndpointParts extends Pick<PeerParts, "front" | "instructions"> {
  /** The gateway that is served now. */
  readonly gateway: () => Gateway;
  /** Throws a {@link Refusal} of what has no business here. */
  readonly check: (request: IncomingMessage) => void;
  /** Who calls; the local user by default. Rejects with a {@link Refusal} where that is not known. */
  readonly actorOf?: ((request: IncomingMessage) => Promise<Actor>) | undefined;
  readonly limits: MessageLimits & ReplyLimits;
  /** Bounds of what clients are asked. */
  readonly asking?: Partial<AskLimits> | undefined;
  /** Where sessions are that are not known here. */
  readonly homes?: SessionHomes | undefined;
}

/** MCP at one address, for clients of both eras. */
export interface Endpoint {
  handle(request: IncomingMessage, response: ServerResponse): void;
  /** Takes nothing more, and ends the streams that only listen. */
  close(): void;
  /** Resolves once every answer has been sent. */
  settled(): Promise<void>;
}

/** What is known of the tools of one revision. */
interface Mirrored {
  readonly catalog: Catalog;
  readonly revision: number;
  readonly byTool: ReadonlyMap<string, readonly MirroredParam[]>;
}

/** Who speaks, and in which session. */
interface Caller {
  readonly id: string | undefined;
  readonly actor: Actor;
}

const MAX_BATCH = 100;
const SESSION = "mcp-session-id";

/**
 * Makes an endpoint. A session is a name under which a client of the older era cancels its requests, and under which
 * is known what it said of itself. One that was given out before a restart is as good as any, but such a client can
 * be asked nothing: nobody knows what it can do.
 */
export function createEndpoint({
  gateway,
  check,
  actorOf,
  limits,
  asking,
  homes,
  ...parts
}: EndpointParts): Endpoint {
  const sessions = createSessions();
  const talk = createTalk(asking, async (state) => homes?.begin(placeOfState(state), talk.limits.answerMs));
  const exchanges = new Map<Exchange, Promise<void>>();
  let mirrored: Mirrored | undefined;
  let isClosing = false;

  return {
    handle(request, response) {
      serve(request, response).catch((thrown) => {
        if (!(thrown instanceof Refusal)) gateway().report(GatewayError.from(thrown));
        return refuse(request, response, thrown);
      });
    },
    close() {
      isClosing = true;
      for (const exchange of exchanges.keys()) exchange.close();
      talk.suspended.close();
    },
    async settled() {
      await Promise.all(exchanges.values());
    },
  };

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    check(request);
    const actor = (await actorOf?.(request)) ?? localUser;
    const id = headerOf(request.headers, SESSION);
    // A client that is told so begins another one.
    if (sessions.isForeign(id, actor.id)) throw new Refusal(404, "There is no such session.");
    if (id !== undefined && (await isElsewhere(id, request, response))) return;
    if (request.method === "GET") return tell(request, response, { id, actor });
    const accepted = acceptedOf(request.headers.accept);
    const body = await readJson(request, limits);
    const known = sessions.get(id) ?? createSession();
    const { requests, modern } = sort(body, request, { id, actor }, known);
    if (requests.length === 0) return void response.writeHead(202).end();
    if (modern && (await waitsElsewhere(body, request, response))) return;
    goOn();
    const begun = !modern && requests[0]?.method === "initialize" ? sessions.begin(actor.id) : undefined;
    if (begun) await homes?.begin(begun.id);
    const reply = createReply(response, accepted, limits, begun && { [SESSION]: begun.id });
    const session = begun?.session ?? known;
    const exchange = { ...parts, reply, id, actor, session, talk, canAsk: accepted.stream };
    const traced = requests.map((one) => withTraceHeaders(one, request.headers));
    keep(response, answering(traced, Array.isArray(body), modern, exchange));
  }

  /** Whether a session is another replica's, which has answered then. The newer era has no sessions. */
  async function isElsewhere(
    id: string,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<boolean> {
    const version = headerOf(request.headers, "mcp-protocol-version");
    if (!homes || sessions.get(id) || modernVersions.includes(String(version))) return false;
    const routed = await homes.route(id, request, response);
    if (routed === "gone") throw new Refusal(404, "There is no such session. Begin another one.");
    if (routed === "lost") {
      throw new Refusal(502, "The gateway that has this session ended before it answered.");
    }
    return routed === "answered";
  }

  /** Whether the call that a client comes back to waits at another replica, which has answered then. */
  async function waitsElsewhere(
    body: unknown,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<boolean> {
    const { params } = body as JsonObject;
    const state = isJsonObject(params) ? ownStateOf(params) : undefined;
    if (!homes || state === undefined || talk.suspended.has(state)) return false;
    const routed = await homes.route(placeOfState(state), request, response, JSON.stringify(body));
    if (routed === "lost") {
      throw new Refusal(502, "The gateway where this call waited ended before it answered.");
    }
    return routed === "answered";
  }

  /** Checks all messages of a request, acts on the notices, and returns what is to be answered. */
  function sort(body: unknown, { headers }: IncomingMessage, caller: Caller, session: Session) {
    const isBatch = Array.isArray(body);
    const all: readonly unknown[] = isBatch ? body : [body];
    if (all.length === 0 || all.length > MAX_BATCH) {
      throw malformed(`A batch holds between one and ${MAX_BATCH} messages.`);
    }
    const messages = all
      .map((one) => asMessage(one, (answer) => talk.asking.answer(answer, session)))
      .filter((message) => message !== undefined);
    if (isBatch && messages.some(claimsModern))
      throw malformed("This revision of the protocol has no batches.");
    let modern = false;
    for (const message of messages) {
      modern = withId(message, () => isModern(message, headers));
      if (modern) withId(message, () => checkMirrored(message, headers));
      else if (message.method === "notifications/cancelled") cancel(caller, message.params);
    }
    const requests = messages.filter((message) => message.id !== undefined) as (Message & { id: string })[];
    if (new Set(requests.map(({ id }) => id)).size < requests.length) {
      throw malformed("Two requests of a batch have the same id.");
    }
    return { requests, modern };
  }

  function checkMirrored({ method, params }: Message, headers: IncomingMessage["headers"]): void {
    if (method !== "tools/call" || !isJsonObject(params)) return;
    const { catalog } = gateway();
    if (mirrored?.catalog !== catalog || mirrored.revision !== catalog.revision) {
      mirrored = { catalog, revision: catalog.revision, byTool: mirroredParams(parts.front.list()) };
    }
    checkParams(mirrored.byTool.get(String(params["name"])) ?? [], params["arguments"], headers);
  }

  function cancel(caller: Caller, params: unknown): void {
    if (!isJsonObject(params)) return;
    for (const exchange of exchanges.keys()) {
      if (isOf(exchange, caller)) exchange.cancel(params["requestId"]);
    }
  }

  function tell({ headers }: IncomingMessage, response: ServerResponse, caller: Caller): void {
    goOn();
    const accepted = acceptedOf(headers.accept);
    if (!accepted.stream) throw new Refusal(406, "What is told here comes as text/event-stream.");
    const version = headerOf(headers, "mcp-protocol-version");
    if (modernVersions.includes(String(version))) throw notAllowed("POST");
    checkLegacyVersion(version);
    for (const other of exchanges.keys()) {
      // Nothing may be told twice; a client that asks again has lost the first stream.
      if (isOf(other, caller) && other.isTelling) other.close();
    }
    const reply = createReply(response, accepted, limits);
    keep(response, telling({ ...parts, ...caller, reply, session: sessions.get(caller.id), talk }));
  }

  function keep(response: ServerResponse, exchange: Exchange): void {
    if (response.closed) {
      exchange.over();
      return;
    }
    const done = new Promise<void>((resolve) => {
      response.once("close", () => {
        exchanges.delete(exchange);
        exchange.over();
        resolve();
      });
    });
    exchanges.set(exchange, done);
  }

  function goOn(): void {
    if (isClosing) throw new Refusal(503, "The gateway is closing.", { headers: { connection: "close" } });
  }
}

/** Sessions from before a restart are known to nobody: the same name may be used by two. */
function isOf({ session, actor }: Exchange, caller: Caller): boolean {
  return session !== undefined && session === caller.id && actor === caller.actor.id;
}

/** A request or a notification, or nothing where it is an answer. */
function asMessage(value: unknown, onAnswer: (answer: JsonObject) => void): Message | undefined {
  if (!isJsonObject(value) || value["jsonrpc"] !== "2.0") {
    throw malformed("This is not a message of JSON-RPC 2.0.");
  }
  const { id, method, params } = value;
  if (method === undefined && ("result" in value || "error" in value)) return void onAnswer(value);
  if (typeof method !== "string") throw malformed("A message needs a method.");
  if (id === undefined) return { method, params };
  if (typeof id !== "string" && typeof id !== "number") {
    throw malformed("The id of a request is a text or a number.");
  }
  return { id, method, params };
}

/** Has a refusal say which request it answers. */
function withId<T>({ id }: Message, work: () => T): T {
  try {
    return work();
  } catch (thrown) {
    if (thrown instanceof Refusal) thrown.id ??= id;
    throw thrown;
  }
}
