import { type Actor, GatewayError, isJsonObject, type JsonObject } from "../../../core/mod.ts";
import { invalidParams, JsonRpcError, methodNotFound, rpcCodes } from "../../lib/jsonrpc.ts";
import { LegacyClient, takeAnswer } from "../client/legacy.ts";
import { answerModern, interactiveMethods } from "../client/modern.ts";
import { clientCannot } from "../client/questions.ts";
import {
  errorMessage,
  getMeta,
  getModernVersion,
  type Id,
  isAnswerMessage,
  isQuestions,
  toId,
  toModernResult,
  UNWRITABLE,
} from "./messages.ts";
import { Request } from "./request.ts";
import type { McpServer } from "./server.ts";
import { Session } from "./session.ts";
import { Subscriptions } from "./subscriptions.ts";

/** Options of a connection. */
export interface ClientConnectionOptions {
  /** Sends one message to the client; returns false if it could not be sent. */
  readonly send: (message: object) => unknown;
  /** Actor of the client; the local user if not given. */
  readonly actor?: Actor | undefined;
  /** The session of a client that uses several connections; a new one by default. */
  readonly session?: Session | undefined;
  /** Whether a legacy client can be asked on this connection; true by default. */
  readonly canAsk?: boolean | undefined;
  /** Whether to answer a subscription to nothing at once, instead of when the client ends it. */
  readonly closesEmpty?: boolean | undefined;
}

/** One stream of messages from a client, of a legacy or modern protocol version: stdio, or one HTTP request. */
export class ClientConnection {
  readonly server: McpServer;
  readonly send: ClientConnectionOptions["send"];
  readonly actor: Actor | undefined;
  readonly session: Session;
  readonly closesEmpty: boolean;
  readonly #canAsk: boolean;
  readonly #running = new Map<Id, Request>();
  #subscriptions: Subscriptions | undefined;

  constructor(
    server: McpServer,
    { send, actor, session, canAsk = true, closesEmpty = false }: ClientConnectionOptions,
  ) {
    this.server = server;
    this.send = send;
    this.actor = actor;
    this.session = session ?? new Session();
    this.closesEmpty = closesEmpty;
    this.#canAsk = canAsk;
  }

  /** Notifications that the client gets without asking each time. */
  get subscriptions(): Subscriptions {
    this.#subscriptions ??= new Subscriptions(this);
    return this.#subscriptions;
  }

  /** Takes one message of any kind. Never throws. */
  receive(message: unknown): void {
    if (!isJsonObject(message) || message["jsonrpc"] !== "2.0") {
      this.#refuse(null, "This is not a message of JSON-RPC 2.0.");
      return;
    }
    const { id, method, params = {} } = message;
    if (isAnswerMessage(message)) takeAnswer(message, this.session);
    else if (typeof method !== "string") {
      // A question that this was meant to answer fails now, and not by its time limit.
      takeAnswer(message, this.session);
      this.#refuse(toId(id) ?? null, "A message needs a method.");
    } else if (id === undefined) this.#takeNotification(method, isJsonObject(params) ? params : {});
    else if (typeof id !== "string" && typeof id !== "number") {
      this.#refuse(null, "The id of a request is a string or a number.");
    } else if (this.#running.has(id)) this.#refuse(id, "A request with this id is still under way.");
    else this.#takeRequest(id, method, params);
  }

  /** Resolves once every request is answered. */
  async settled(): Promise<void> {
    await Promise.all([...this.#running.values()].map(({ done }) => done));
  }

  /** Notes that the client sends nothing more: it will answer no question. Its requests go on. */
  endInput(): void {
    for (const request of this.#running.values()) request.leave();
  }

  /**
   * Notes that the client disconnected without a word: it may have crashed, or its network has. Calls that only read are
   * cancelled, and so are those that wait to be sent. A call that has begun to change something goes on, and is recorded
   * as it ends: if it were cancelled in the middle, its outcome would be unknown. A client that wants a request to be cancelled sends a notification.
   */
  disconnect(): void {
    for (const request of this.#running.values()) {
      if (request.hasEffects && this.server.detach(request.done)) request.cancelUnsent();
      else request.cancel();
      request.leave();
    }
  }

  /** Ends the subscriptions. */
  close(): void {
    this.#subscriptions?.close();
  }

  #refuse(id: Id | null, message: string): void {
    this.send(errorMessage(id, new JsonRpcError(rpcCodes.invalidRequest, message)));
  }

  #takeRequest(id: Id, method: string, params: unknown): void {
    const fail = (thrown: unknown): void => this.#finish(id, errorMessage(id, thrown));
    try {
      if (!isJsonObject(params)) throw invalidParams("The params of a request are an object.");
      const { handlers } = this.server;
      const handler = Object.hasOwn(handlers, method) ? handlers[method] : undefined;
      const isModern = getModernVersion(params) !== undefined;
      if (!handler || (isModern && method === "initialize")) throw methodNotFound(method);
      const request = new Request(id, isModern, this, getMeta(params));
      if (!isModern && this.#canAsk) request.client = new LegacyClient(request);
      this.#running.set(id, request);
      const succeed = (result: object): void => this.#finish(id, toAnswer(request, result));
      const answer =
        isModern && interactiveMethods.has(method)
          ? answerModern(handler, method, params, request)
          : (handler(params, request) as object | Promise<object>);
      // Without a promise where none is needed: this runs for every request.
      if (answer instanceof Promise) answer.then(succeed, fail);
      else succeed(answer);
    } catch (thrown) {
      fail(thrown);
    }
  }

  #finish(id: Id, message: object): void {
    const request = this.#running.get(id);
    // A client that has cancelled a request no longer waits for its answer.
    if (!request?.cancelled) {
      request?.leave();
      try {
        this.send(message);
      } catch (thrown) {
        // A plugin's result may be no JSON at all, or nested without an end.
        this.send(errorMessage(id, GatewayError.from(thrown, UNWRITABLE)));
      }
    }
    this.#running.delete(id);
    request?.end();
  }

  #takeNotification(method: string, { requestId }: JsonObject): void {
    if (method === "notifications/initialized") this.subscriptions.begin();
    if (method === "notifications/cancelled") this.#running.get(requestId as Id)?.cancel();
  }
}

/** The message that answers a request; an error if the result cannot be read. */
function toAnswer({ id, isModern }: Request, result: object): object {
  try {
    // The legacy protocol has no such answers: a server has to ask by a request.
    if (!isModern && isQuestions(result)) throw clientCannot("input_required", {});
    return { jsonrpc: "2.0", id, result: isModern ? toModernResult(result) : result };
  } catch (thrown) {
    return errorMessage(id, thrown);
  }
}
