import { GatewayError, getAbortReason, isJsonObject, type JsonObject } from "../../../core/mod.ts";
import {
  CLIENT_FAILED,
  CLIENT_LEFT,
  CLIENT_SILENT,
  type Client,
  QUESTIONS_FULL,
} from "../../../core/services/clients.ts";

/** The client of a request, with a fact that plugins do not see. */
export interface RequestClient extends Client {
  /** Time of the last answer to a question, on the clock of `performance.now()`: now while one is open, 0 without any. */
  readonly answeredAt: number;
}

/** Default limits of questions to clients. */
export const clientLimits = {
  /** Milliseconds that a client has to answer a question. */
  answerMs: 600_000,
  /** Number of calls that may wait for modern clients to come back. */
  suspended: 1_000,
  /** Number of questions that one request may have open at once. */
  questions: 100,
};

/** Limits of questions to clients. */
export type ClientLimits = Readonly<typeof clientLimits>;

/** A request to a client that waits for its answer. */
interface PendingRequest {
  readonly method: string;
  readonly params: Readonly<JsonObject>;
  resolve(answer: JsonObject): void;
  reject(error: GatewayError): void;
}

/** Reasons to stop waiting for an answer. */
interface PendingOptions {
  readonly signals: readonly (AbortSignal | undefined)[];
  /** Called once, when the request is no longer pending; `isAborted` if one of the signals is why. */
  readonly onEnd?: (isAborted: boolean) => void;
}

/** Characters of a client's error message that are passed on. */
const MAX_ERROR = 500;

/** The requests to a client that wait for answers, all made on behalf of one request of that client. */
export class PendingRequests {
  readonly #all = new Map<string, PendingRequest>();
  readonly #max: number;
  #answeredAt = 0;

  constructor({ questions }: ClientLimits) {
    this.#max = questions;
  }

  /** See {@link RequestClient.answeredAt}. */
  get answeredAt(): number {
    return this.#all.size > 0 ? performance.now() : this.#answeredAt;
  }

  get size(): number {
    return this.#all.size;
  }

  get(id: string): PendingRequest | undefined {
    return this.#all.get(id);
  }

  entries(): readonly (readonly [string, PendingRequest])[] {
    return [...this.#all];
  }

  /** Adds a request; the answer comes from its `resolve` or `reject`, or from a signal that aborts. */
  add(
    id: string,
    method: string,
    params: Readonly<JsonObject>,
    { signals, onEnd }: PendingOptions,
  ): Promise<JsonObject> {
    if (this.#all.size >= this.#max) throw tooManyQuestions();
    return new Promise((resolve, reject) => {
      const watched = signals.filter((signal) => signal !== undefined);
      const onAbort = ({ target }: { readonly target: unknown }): void => {
        if (end(true)) reject(getAbortReason(target as AbortSignal));
      };
      const end = (isAborted: boolean): boolean => {
        if (!this.#all.delete(id)) return false;
        for (const signal of watched) signal.removeEventListener("abort", onAbort);
        this.#answeredAt = performance.now();
        onEnd?.(isAborted);
        return true;
      };
      for (const signal of watched) signal.addEventListener("abort", onAbort);
      this.#all.set(id, {
        method,
        params,
        resolve: (answer) => void (end(false) && resolve(answer)),
        reject: (error) => void (end(false) && reject(error)),
      });
    });
  }

  rejectAll(error: GatewayError): void {
    for (const pending of [...this.#all.values()]) pending.reject(error);
  }
}

/** Throws if one of the signals has aborted already. */
export function checkNotAborted(signals: readonly (AbortSignal | undefined)[]): void {
  for (const signal of signals) if (signal?.aborted) throw getAbortReason(signal);
}

/** The error of a client that no longer waits for its request. */
export function clientLeft(): GatewayError {
  return new GatewayError(CLIENT_LEFT, "The client cannot be asked any more: it no longer waits.");
}

/** The error of too many open questions. */
export function tooManyQuestions(): GatewayError {
  return new GatewayError(
    QUESTIONS_FULL,
    "The client cannot be asked now: too many questions are open. Try again later.",
  );
}

/** The error of a question that the client did not answer in time. */
export function clientSilent(ms: number): GatewayError {
  return new GatewayError(CLIENT_SILENT, `The client did not answer a question within ${ms} ms.`, {
    data: { ms },
  });
}

/** The error of a client that answered with an error, or with something that is no answer. */
export function clientFailed(method: string, error: unknown): GatewayError {
  const { code, message } = isJsonObject(error) ? error : {};
  const data = {
    method,
    code: Number.isSafeInteger(code) ? code : -32603,
    message: typeof message === "string" ? message.slice(0, MAX_ERROR) : "The answer is not one.",
  };
  return new GatewayError(CLIENT_FAILED, `The client answered "${method}" with an error.`, { data });
}
