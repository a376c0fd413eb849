import type { IncomingMessage, ServerResponse } from "node:http";
import { type Actor, type Gateway, GatewayError, isJsonObject, localUser } from "../../core/mod.ts";
import type { SessionHomes } from "../replicas/session-homes.ts";
import { withTraceHeaders } from "../telemetry/trace-context.ts";
import { isElsewhere, waitsElsewhere } from "./_http-elsewhere.ts";
import { checkLegacyVersion, headerOf } from "./_http-era.ts";
import { answering, type Exchange, telling } from "./_http-exchange.ts";
import { readMessages } from "./_http-messages.ts";
import { createParamCheck } from "./_http-params.ts";
import { notAllowed, Refusal, refuse } from "./_http-refusal.ts";
import { acceptedOf, createReply, type ReplyLimits } from "./_http-reply.ts";
import { type MessageLimits, readJson } from "./_http-request.ts";
import { placeOfState } from "./_input.ts";
import type { AskLimits } from "./_served-client.ts";
import { createSession, createSessions } from "./_session.ts";
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

/** Who speaks, and in which session. */
interface Caller {
  readonly id: string | undefined;
  readonly actor: Actor;
}

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
  const checkParams = createParamCheck(gateway, parts.front);
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
    const isUnknown = id !== undefined && sessions.get(id) === undefined;
    if (homes && isUnknown && (await isElsewhere(homes, id, request, response))) return;
    if (request.method === "GET") return tell(request, response, { id, actor });
    const accepted = acceptedOf(request.headers.accept);
    const body = await readJson(request, limits);
    const known = sessions.get(id) ?? createSession();
    const { requests, modern } = readMessages(body, request.headers, {
      answer: (answer) => talk.asking.answer(answer, known),
      cancel: (params) => cancel({ id, actor }, params),
      check: (message) => checkParams(message, request.headers),
    });
    if (requests.length === 0) return void response.writeHead(202).end();
    const { has } = talk.suspended;
    if (homes && modern && (await waitsElsewhere(homes, body, has, request, response))) return;
    goOn();
    const begun = !modern && requests[0]?.method === "initialize" ? sessions.begin(actor.id) : undefined;
    if (begun) await homes?.begin(begun.id);
    const reply = createReply(response, accepted, limits, begun && { [SESSION]: begun.id });
    const session = begun?.session ?? known;
    const exchange = { ...parts, reply, id, actor, session, talk, canAsk: accepted.stream };
    const traced = requests.map((one) => withTraceHeaders(one, request.headers));
    keep(response, answering(traced, Array.isArray(body), modern, exchange));
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
