import { randomUUID } from "node:crypto";
import { cancelledBy, GatewayError, isJsonObject, type JsonObject } from "../../core/mod.ts";
import { canBeAsked, checkAskable } from "./_capability.ts";
import { isWanted } from "./_logging.ts";
import { createPending, type Pending } from "./_pending.ts";
import type { AskLimits, ServedClient } from "./_served-client.ts";
import type { Session } from "./_session.ts";
import type { Underway } from "./_underway.ts";
import { CLIENT_FAILED, CLIENT_LEFT, CLIENT_SILENT, QUESTIONS_FULL } from "./client.ts";

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

/** Makes what asks clients of the older era. */
export function createAsking({ answerMs, questions }: AskLimits): Asking {
  /** By ids that nobody can guess: another client cannot answer in place of the one that was asked. */
  const all = new Map<string, Asked>();

  return {
    clientOf(request, session, send) {
      let unanswered = 0;
      let answeredAt = 0;
      return {
        era: "legacy",
        peer: session,
        get logLevel() {
          return session.level;
        },
        get info() {
          return session.info;
        },
        get capabilities() {
          return session.capabilities;
        },
        get unanswered() {
          return unanswered;
        },
        get answeredAt() {
          return answeredAt;
        },
        can: (capability) => !request.isGone && canBeAsked(capability, session.capabilities),
        async ask(method, params, { signal, callSignal } = {}) {
          checkAskable(method, params, session.capabilities);
          const { gone } = request;
          const signals = [signal, callSignal, request.abort.signal, gone];
          for (const ended of signals) if (ended?.aborted) throw cancelledBy(ended);
          if (unanswered >= questions) throw full();
          const id = randomUUID();
          const timer = setTimeout(() => {
            pending.reject(late(answerMs));
            takeBack(id, "It took too long.");
          }, answerMs);
          const pending = createPending({
            signals,
            onEnd(endedBy) {
              all.delete(id);
              clearTimeout(timer);
              unanswered--;
              answeredAt = performance.now();
              if (endedBy && endedBy !== gone) takeBack(id, "The call is over.");
            },
          });
          unanswered++;
          all.set(id, { session, method, pending });
          if (send({ jsonrpc: "2.0", id, method, params: legacyParams(method, params) }) === false) {
            pending.reject(left());
          }
          return pending.answer;
        },
        tell(method, params) {
          // Who never said what it wants to hear wants to hear everything.
          if (!request.isGone && isWanted(method, params, session.level ?? "debug")) {
            send({ jsonrpc: "2.0", method, params });
          }
        },
      };

      function takeBack(requestId: string, reason: string): void {
        send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId, reason } });
      }
    },
    answer({ id, result, error }, session) {
      const asked = typeof id === "string" ? all.get(id) : undefined;
      if (!asked || asked.session !== session) return;
      if (isJsonObject(result)) asked.pending.resolve(result);
      else asked.pending.reject(failed(asked.method, error));
    },
  };
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
