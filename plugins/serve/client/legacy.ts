import { randomUUID } from "node:crypto";
import { isJsonObject, type JsonObject } from "../../../core/mod.ts";
import type { Client, ClientCapability } from "../../../core/services/clients.ts";
import { isWanted } from "../protocol/messages.ts";
import type { Request } from "../protocol/request.ts";
import type { Session } from "../protocol/session.ts";
import {
  checkNotAborted,
  clientFailed,
  clientLeft,
  clientSilent,
  PendingRequests,
  type RequestClient,
} from "./pending.ts";
import { canBeAsked, checkAskable } from "./questions.ts";

/**
 * A client of the legacy protocol, which is asked by requests of ours that have ids of their own. A class for the
 * reason that {@link Request} is one.
 */
export class LegacyClient implements RequestClient {
  readonly protocol = "legacy";
  readonly #request: Request;
  #pending: PendingRequests | undefined;

  constructor(request: Request) {
    this.#request = request;
  }

  get session(): Session {
    return this.#request.connection.session;
  }

  get logLevel(): Client["logLevel"] {
    return this.session.level;
  }

  get info(): Client["info"] {
    return this.session.info;
  }

  get capabilities(): Client["capabilities"] {
    return this.session.capabilities;
  }

  get answeredAt(): number {
    return this.#pending?.answeredAt ?? 0;
  }

  can(capability: ClientCapability): boolean {
    return !this.#request.isGone && canBeAsked(capability, this.session.capabilities);
  }

  async ask(
    method: string,
    params: Readonly<JsonObject>,
    { signal }: { readonly signal?: AbortSignal } = {},
  ): Promise<JsonObject> {
    const request = this.#request;
    const { session, send, server } = request.connection;
    checkAskable(method, params, session.capabilities);
    const signals = [signal, request.signal];
    checkNotAborted(signals);
    if (request.isGone) throw clientLeft();
    const pending = this.#pending ?? new PendingRequests(server.limits);
    this.#pending = pending;
    request.onLeave = () => pending.rejectAll(clientLeft());
    // An id that cannot be guessed: no client can answer in place of the one that was asked.
    const id = randomUUID();
    const { answerMs } = server.limits;
    const answer = pending.add(id, method, params, {
      signals,
      onEnd: (isAborted) => {
        session.pending.delete(id);
        clearTimeout(timer);
        if (isAborted) this.#cancel(id, "The call is over.");
      },
    });
    const timer = setTimeout(() => {
      pending.get(id)?.reject(clientSilent(answerMs));
      this.#cancel(id, "It took too long.");
    }, answerMs);
    session.pending.set(id, pending);
    if (send({ jsonrpc: "2.0", id, method, params: toLegacyParams(method, params) }) === false) {
      pending.get(id)?.reject(clientLeft());
    }
    return answer;
  }

  notify(method: string, params: Readonly<JsonObject>): void {
    // A client that never set a level wants everything.
    if (!this.#request.isGone && isWanted(method, params, this.session.level ?? "debug")) {
      this.#request.connection.send({ jsonrpc: "2.0", method, params });
    }
  }

  #cancel(requestId: string, reason: string): void {
    const params = { requestId, reason };
    this.#request.connection.send({ jsonrpc: "2.0", method: "notifications/cancelled", params });
  }
}

/** Takes a client's answer. One to a request that is not pending in this session is ignored. */
export function takeAnswer({ id, result, error }: JsonObject, session: Session): void {
  const pending = typeof id === "string" ? session.pending.get(id)?.get(id) : undefined;
  if (isJsonObject(result)) pending?.resolve(result);
  else pending?.reject(clientFailed(pending.method, error));
}

/** A legacy URL elicitation has an id, by which a server can say that it is completed. */
function toLegacyParams(method: string, params: Readonly<JsonObject>): Readonly<JsonObject> {
  const needsId =
    method === "elicitation/create" && params["mode"] === "url" && params["elicitationId"] === undefined;
  return needsId ? { ...params, elicitationId: randomUUID() } : params;
}
