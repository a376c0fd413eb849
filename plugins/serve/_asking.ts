import { randomUUID } from "node:crypto";
import { cancelledBy, GatewayError, isJsonObject, type JsonObject } from "../../core/mod.ts";
import { canBeAsked, checkAskable } from "./_capability.ts";
import { isWanted } from "./_logging.ts";
import { createPending, type Pending } from "./_pending.ts";
import type { AskLimits, AskOptions, ServedClient } from "./_served-client.ts";
import type { Session } from "./_session.ts";
import type { Underway } from "./_underway.ts";
import {
  CLIENT_FAILED,
  CLIENT_LEFT,
  CLIENT_SILENT,
  type ClientCapability,
  QUESTIONS_FULL,
} from "./client.ts";

/** What clients of the older era are asked, by requests of our own. */
export interface Asking {
  /** The client of a request. `send` returns false where a message could not be sent. */
  clientOf(request: Underway, session: Session, send: (message: object) => unknown): ServedClient;
  /** Takes an answer. One that nobody waits for, or not from this client, is ignored. */
  answer(message: JsonObject, session: Session): void;
}

interface Asked {
  readonly session: Session;
  readonly method: string;
  readonly pending: Pending;
}

/** How much of a client's error is passed on. */
const MAX_ERROR = 500;

/** What is asked of one address, by ids that nobody can guess: no client can answer in place of the one that was asked. */
type Questions = Map<string, Asked>;

/** Makes what asks clients of the older era. */
export function createAsking(limits: AskLimits): Asking {
  const all: Questions = new Map();
  return {
    clientOf: (request, session, send) => new LegacyClient(all, limits, request, session, send),
    answer({ id, result, error }, session) {
      const asked = typeof id === "string" ? all.get(id) : undefined;
      if (!asked || asked.session !== session) return;
      if (isJsonObject(result)) asked.pending.resolve(result);
      else asked.pending.reject(failed(asked.method, error));
    },
  };
}

/** A class for the reason that `Underway` is one. */
class LegacyClient implements ServedClient {
  readonly era = "legacy";
  readonly peer: Session;
  unanswered = 0;
  answeredAt = 0;
  readonly #all: Questions;
  readonly #limits: AskLimits;
  readonly #request: Underway;
  readonly #send: (message: object) => unknown;

  constructor(
    all: Questions,
    limits: AskLimits,
    request: Underway,
    session: Session,
    send: (message: object) => unknown,
  ) {
    this.peer = session;
    this.#all = all;
    this.#limits = limits;
    this.#request = request;
    this.#send = send;
  }

  get logLevel(): ServedClient["logLevel"] {
    return this.peer.level;
  }

  get info(): ServedClient["info"] {
    return this.peer.info;
  }

  get capabilities(): ServedClient["capabilities"] {
    return this.peer.capabilities;
  }

  can(capability: ClientCapability): boolean {
    return !this.#request.isGone && canBeAsked(capability, this.peer.capabilities);
  }

  async ask(
    method: string,
    params: Readonly<JsonObject>,
    { signal, callSignal }: AskOptions = {},
  ): Promise<JsonObject> {
    const [all, session, { answerMs, questions }] = [this.#all, this.peer, this.#limits];
    checkAskable(method, params, session.capabilities);
    const { gone, signal: taken } = this.#request;
    const signals = [signal, callSignal, taken, gone];
    for (const ended of signals) if (ended?.aborted) throw cancelledBy(ended);
    if (this.unanswered >= questions) throw full();
    const id = randomUUID();
    const timer = setTimeout(() => {
      pending.reject(late(answerMs));
      this.#takeBack(id, "It took too long.");
    }, answerMs);
    const pending = createPending({
      signals,
      onEnd: (endedBy) => {
        all.delete(id);
        clearTimeout(timer);
        this.unanswered--;
        this.answeredAt = performance.now();
        if (endedBy && endedBy !== gone) this.#takeBack(id, "The call is over.");
      },
    });
    this.unanswered++;
    all.set(id, { session, method, pending });
    if (this.#send({ jsonrpc: "2.0", id, method, params: legacyParams(method, params) }) === false) {
      pending.reject(left());
    }
    return pending.answer;
  }

  tell(method: string, params: Readonly<JsonObject>): void {
    // Who never said what it wants to hear wants to hear everything.
    if (!this.#request.isGone && isWanted(method, params, this.peer.level ?? "debug")) {
      this.#send({ jsonrpc: "2.0", method, params });
    }
  }

  #takeBack(requestId: string, reason: string): void {
    this.#send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId, reason } });
  }
}

/** The error of a client that nobody can ask any more. */
export function left(): GatewayError {
  return new GatewayError(CLIENT_LEFT, "The client cannot be asked any more: it no longer waits.");
}

/** The error of too many questions at once. */
export function full(): GatewayError {
  return new GatewayError(
    QUESTIONS_FULL,
    "The client cannot be asked now: too many questions are open. Try again later.",
  );
}

/** The error of a question that nobody answered in time. */
export function late(ms: number): GatewayError {
  return new GatewayError(CLIENT_SILENT, `The client did not answer a question within ${ms} ms.`, {
    data: { ms },
  });
}

function failed(method: string, error: unknown): GatewayError {
  const { code, message } = isJsonObject(error) ? error : {};
  const data = {
    method,
    code: Number.isSafeInteger(code) ? code : -32603,
    message: typeof message === "string" ? message.slice(0, MAX_ERROR) : "The answer is not one.",
  };
  return new GatewayError(CLIENT_FAILED, `The client answered "${method}" with an error.`, { data });
}

/** In the older era a URL that is to be opened has an id, by which a server can say that it is done with. */
function legacyParams(method: string, params: Readonly<JsonObject>): Readonly<JsonObject> {
  const needsId =
    method === "elicitation/create" && params["mode"] === "url" && params["elicitationId"] === undefined;
  return needsId ? { ...params, elicitationId: randomUUID() } : params;
}
