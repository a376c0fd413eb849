import { type GatewayError, isJsonObject, type JsonObject } from "../../../core/mod.ts";
import type { Client, ClientCapability } from "../../../core/services/clients.ts";
import { isQuestions, isWanted, META, parseLevel } from "../protocol/messages.ts";
import type { Handler, Request } from "../protocol/request.ts";
import { parseClientInfo } from "../protocol/session.ts";
import {
  checkNotAborted,
  clientLeft,
  PendingRequests,
  type RequestClient,
  tooManyQuestions,
} from "./pending.ts";
import { canBeAsked, checkAskable, findOwnState, toClientQuestions, toUpstreamInput } from "./questions.ts";

/** Questions asked within so many milliseconds are asked together: each round costs the client a request. */
const SAME_ROUND_MS = 10;

/** The methods whose answer may be a question. */
export const interactiveMethods: ReadonlySet<string> = new Set([
  "tools/call",
  "resources/read",
  "prompts/get",
]);

/**
 * Begins a modern request, or continues the one that it names, until there is a result or the client is asked
 * something. It is asked by an answer that holds the questions; the client then makes its request again, with answers.
 */
export async function answerModern(
  handler: Handler,
  method: string,
  params: JsonObject,
  request: Request,
): Promise<object> {
  const { suspended } = request.connection.server;
  const state = findOwnState(params);
  let client: ModernClient;
  if (state === undefined) {
    request.input = toUpstreamInput(params);
    client = new ModernClient(request);
    client.begin(handler, params);
  } else {
    client = suspended.take(state, method, params, request.actor);
    client.resume(request, params["inputResponses"]);
  }
  for (;;) {
    const result = await client.next();
    if (result) return isQuestions(result) ? toClientQuestions(result, client.capabilities) : result;
    const inputRequests = client.questions();
    // The asking code may have given up in this moment.
    if (Object.keys(inputRequests).length === 0) continue;
    const kept = suspended.keep(client, method, params, request.actor);
    if (kept) return { resultType: "input_required", inputRequests, requestState: await kept };
    client.refuse(tooManyQuestions());
  }
}

/**
 * A client of the modern protocol, which takes part in one call by one or several requests. A class for the reason that
 * {@link Request} is one.
 */
export class ModernClient implements RequestClient {
  readonly protocol = "modern";
  /** The request that began the call, and cancels it: nothing else can cancel it once it is answered. */
  readonly #first: Request;
  /** The `_meta` of the latest request. */
  #meta: Readonly<JsonObject>;
  #pending: PendingRequests | undefined;
  #count = 0;
  /** Whether the client will not come back. */
  #hasLeft = false;
  #result: Promise<object> | undefined;
  #onQuestions: (() => void) | undefined;
  #isWaking = false;
  #onCancel: (() => void) | undefined;

  constructor(first: Request) {
    this.#first = first;
    this.#meta = first.meta;
    first.client = this;
    first.onLeave = () => this.#leave();
  }

  get info(): Client["info"] {
    return parseClientInfo(this.#meta[`${META}clientInfo`]);
  }

  get capabilities(): Client["capabilities"] {
    const capabilities = this.#meta[`${META}clientCapabilities`];
    return isJsonObject(capabilities) ? capabilities : {};
  }

  get answeredAt(): number {
    return this.#pending?.answeredAt ?? 0;
  }

  can(capability: ClientCapability): boolean {
    return !this.#hasLeft && canBeAsked(capability, this.capabilities);
  }

  async ask(
    method: string,
    params: Readonly<JsonObject>,
    { signal }: { readonly signal?: AbortSignal } = {},
  ): Promise<JsonObject> {
    checkAskable(method, params, this.capabilities);
    const signals = [signal, this.#first.signal];
    checkNotAborted(signals);
    if (this.#hasLeft) throw clientLeft();
    this.#pending ??= new PendingRequests(this.#first.connection.server.limits);
    const id = `question-${++this.#count}`;
    const answer = this.#pending.add(id, method, toModernParams(method, params), { signals });
    this.#wakeSoon();
    return answer;
  }

  notify(method: string, params: Readonly<JsonObject>): void {
    // A client that names no level wants no messages.
    if (isWanted(method, params, parseLevel(this.#meta[`${META}logLevel`]))) {
      this.#first.current?.connection.send({ jsonrpc: "2.0", method, params });
    }
  }

  /** Starts the work that the client asked for. */
  begin(handler: Handler, params: JsonObject): void {
    const leave = (): void => this.#leave();
    this.#result = Promise.resolve(handler(params, this.#first) as object);
    // It may end while the call is suspended; the client is told when it comes back.
    this.#result.then(leave, leave);
  }

  /** Continues with what a client answered. Questions without an answer are asked again. */
  resume(request: Request, responses: unknown): void {
    const first = this.#first;
    first.current = request;
    this.#meta = request.meta;
    request.effects = first.effects;
    request.onLeave = () => this.#leave();
    this.#onCancel = () => first.cancel(request.cancelled);
    request.onCancel(this.#onCancel);
    const given = isJsonObject(responses) ? responses : {};
    for (const [id, pending] of this.#pending?.entries() ?? []) {
      const answer = Object.hasOwn(given, id) ? given[id] : undefined;
      // An answer that is wrapped in a request or a result is none.
      if (isJsonObject(answer) && !("method" in answer) && !("result" in answer)) pending.resolve(answer);
    }
    if (this.#pending?.size) this.#wakeSoon();
  }

  /** Resolves with the result, or with nothing when the client has to be asked first. */
  next(): Promise<object | undefined> {
    return new Promise((resolve, reject) => {
      this.#onQuestions = () => resolve(undefined);
      this.#result?.then(resolve, reject);
    });
  }

  /** The open questions, as the client is asked them. */
  questions(): JsonObject {
    const open = this.#pending?.entries() ?? [];
    return Object.fromEntries(open.map(([id, { method, params }]) => [id, { method, params }]));
  }

  /** Notes that no request of the client is there until it comes back. */
  suspend(): void {
    const { current } = this.#first;
    if (!current) return;
    current.onLeave = undefined;
    if (this.#onCancel) current.offCancel(this.#onCancel);
    this.#first.current = undefined;
  }

  /** Fails the open questions: the client cannot be asked. */
  refuse(error: GatewayError): void {
    this.#pending?.rejectAll(error);
  }

  /** Cancels the call. */
  cancel(error: GatewayError): void {
    this.#first.cancel(error);
  }

  /** A client that leaves in the middle of a round has no state to come back with, whether the call goes on or not. */
  #leave(): void {
    this.#hasLeft = true;
    this.#pending?.rejectAll(clientLeft());
  }

  #wakeSoon(): void {
    if (this.#isWaking) return;
    this.#isWaking = true;
    setTimeout(() => {
      this.#isWaking = false;
      if (this.#pending?.size) this.#onQuestions?.();
    }, SAME_ROUND_MS);
  }
}

/** The modern protocol has no ids of URL elicitations. */
function toModernParams(method: string, params: Readonly<JsonObject>): Readonly<JsonObject> {
  if (method !== "elicitation/create" || !("elicitationId" in params)) return params;
  const { elicitationId, ...rest } = params;
  return rest;
}
