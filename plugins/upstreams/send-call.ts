import {
  type Call,
  type CallInput,
  GatewayError,
  isJsonObject,
  type JsonObject,
  type Progress,
} from "../../core/mod.ts";
import { CLIENT_CANNOT, type Client, type Clients } from "../../core/services/clients.ts";
import { createRefusal, OUTCOME_UNKNOWN } from "../../core/services/policy.ts";
import {
  isUnsent,
  QUESTION_REFUSED,
  UPSTREAM_CLOSED,
  UPSTREAM_PROTOCOL,
  type UpstreamCallOptions,
} from "../../core/services/servers.ts";
import { findJsonFault } from "../lib/json.ts";

/** The server and the client of a request for which input may be required. */
export interface InputContext {
  /** Name of the server, for messages. */
  readonly server: string;
  readonly client?: Client | undefined;
  readonly input?: CallInput | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Options that a call of the pipeline sends to its server. A class with getters, so that the signal and the client are
 * created only when read: few calls need them, and each costs more than the rest of the way to the server.
 */
export class ToolCall implements UpstreamCallOptions, InputContext {
  readonly server: string;
  readonly meta: Readonly<JsonObject>;
  readonly timeoutMs: number | undefined;
  readonly input: CallInput | undefined;
  readonly cancellation: Call;
  readonly #clients: Clients | undefined;
  #client: Client | undefined;

  constructor(
    call: Call,
    server: string,
    meta: Readonly<JsonObject>,
    timeoutMs: number | undefined,
    clients: Clients | undefined,
  ) {
    call.isSent = false;
    this.cancellation = call;
    this.server = server;
    this.meta = meta;
    this.input = call.input;
    this.timeoutMs = timeoutMs;
    this.#clients = clients;
  }

  get signal(): AbortSignal {
    return this.cancellation.signal;
  }

  get client(): Client | undefined {
    this.#client ??= this.#clients?.get(this.cancellation);
    return this.#client;
  }

  onConnecting(): () => void {
    return this.cancellation.pause();
  }

  onSent(isSent: boolean): void {
    this.cancellation.isSent = isSent;
  }

  readonly onProgress = (progress: Progress): void => this.cancellation.report(progress);

  /** Returns the options of the same call with answers to the server's input requests. */
  with(input: CallInput | undefined): UpstreamCallOptions {
    if (input === this.input) return this;
    const { cancellation, meta, timeoutMs, onProgress, client } = this;
    return { cancellation, meta, timeoutMs, onProgress, client, input };
  }
}

/**
 * Turns the failure of a call whose connection ended before the answer into one that is not retried: its outcome is
 * unknown. With a guard the failure stays as it is, for the guard knows which calls only read.
 */
export function toOutcomeError(call: Call, thrown: unknown): unknown {
  if (!call.tool || call.tool.policy || call.cancelled || !GatewayError.is(thrown)) return thrown;
  if (thrown.code !== UPSTREAM_CLOSED.code || isUnsent(thrown)) return thrown;
  const message = `It is unknown whether "${call.tool.id}" was done: ${thrown.message}`;
  return createRefusal(OUTCOME_UNKNOWN, call, message, {
    cause: thrown,
    suggestion:
      "Find out with another tool whether it was done. Make the call again only if it was not, or if it does no harm twice.",
    data: { reason: thrown.code },
  });
}

/** Limit of rounds: a server may ask for more input after each answer, but not forever. */
const MAX_ROUNDS = 10;
const MAX_INPUT_REQUESTS = 100;
const URL_REQUIRED = -32042;
const methods = new Set(["elicitation/create", "sampling/createMessage", "roots/list"]);

/** Returns whether a result of the modern protocol asks for input in place of an answer. */
export function isInputRequired(result: { readonly resultType?: unknown }): boolean {
  return result.resultType === "input_required";
}

/**
 * Sends a request and has the server's input requests answered. A client of the modern protocol gets the input requests
 * unchanged and brings the answers with its next request, so no state is kept here. A client of the legacy protocol is
 * asked one by one, and the request is sent again with the answers.
 */
export function sendWithInput<T extends { readonly resultType?: unknown }>(
  send: (input: CallInput | undefined) => Promise<T>,
  context: InputContext,
): Promise<T> {
  // Most requests need no input: the object that counts the rounds is created for those that do.
  return send(context.input).then(
    (result) => (isInputRequired(result) ? new InputRounds(send, context).answer(result) : result),
    (thrown) => new InputRounds(send, context).openPages(thrown, context.input),
  );
}

/** A request that is sent again with answers. */
class InputRounds<T extends { readonly resultType?: unknown }> {
  readonly #send: (input: CallInput | undefined) => Promise<T>;
  readonly #context: InputContext;
  #hasOpenedPages = false;
  #rounds = 0;

  constructor(send: (input: CallInput | undefined) => Promise<T>, context: InputContext) {
    this.#send = send;
    this.#context = context;
  }

  async answer(result: T): Promise<T> {
    const { client, server, signal } = this.#context;
    if (client?.protocol === "modern") return (await loadQuestions()).prepareQuestions(server, result);
    if (!client) {
      const message = `The server "${server}" asks for input, and there is no client that could give it.`;
      throw new GatewayError(QUESTION_REFUSED, message, { data: { sent: false } });
    }
    if (this.#rounds++ >= MAX_ROUNDS) {
      const message = `The server "${server}" has asked for input ${MAX_ROUNDS} times and still does not answer.`;
      throw new GatewayError(UPSTREAM_PROTOCOL, message);
    }
    const { inputRequests, requestState } = result as JsonObject;
    const responses = await askClient(client, inputRequests, { server, signal });
    return this.#attempt({ responses, state: requestState });
  }

  /** Sends a request again that failed because the user has to open a page first. */
  async openPages(thrown: unknown, input: CallInput | undefined): Promise<T> {
    const pages = this.#hasOpenedPages ? undefined : findPages(thrown);
    const { client, server, signal } = this.#context;
    if (!client || !pages) throw client ? withRequiredCapabilities(thrown) : thrown;
    // Once: a user who has not finished there gets the error and is not asked over and over.
    this.#hasOpenedPages = true;
    const answers = Object.values(await askClient(client, pages, { server, signal }));
    if (!answers.every((given) => (given as JsonObject)["action"] === "accept")) throw thrown;
    return this.#attempt(input);
  }

  #attempt(input: CallInput | undefined): Promise<T> {
    return this.#send(input).then(
      (result) => (isInputRequired(result) ? this.answer(result) : result),
      (thrown) => this.openPages(thrown, input),
    );
  }
}

/** Loaded with the first question: few servers ask. */
const loadQuestions = () => import("../lib/questions.ts");

/** Asks one after another: a user reads one question at a time. */
async function askClient(
  client: Client,
  inputRequests: unknown,
  { server, signal }: Pick<InputContext, "server" | "signal">,
): Promise<JsonObject> {
  const requests = isJsonObject(inputRequests) ? Object.entries(inputRequests) : [];
  if (requests.length > MAX_INPUT_REQUESTS) throw invalidRequest(server);
  const answers: [string, JsonObject][] = [];
  const { prepareQuestion } = await loadQuestions();
  for (const [key, request] of requests) {
    const { method, params = {} } = isJsonObject(request) ? request : {};
    if (typeof method !== "string" || !methods.has(method) || !isJsonObject(params))
      throw invalidRequest(server);
    const fault = findJsonFault(params);
    if (fault) throw fault;
    try {
      answers.push([
        key,
        await client.ask(method, prepareQuestion(server, method, params), signal ? { signal } : {}),
      ]);
    } catch (thrown) {
      throw asUnsent(thrown);
    }
  }
  return Object.fromEntries(answers);
}

/** Marks the failure as one without side effect: a server that still asks for input has not done the work. */
function asUnsent(thrown: unknown): GatewayError {
  const { kind, message, data } = GatewayError.from(thrown, "The client could not be asked.");
  return new GatewayError(kind, message, { cause: thrown, data: { ...data, sent: false } });
}

/** Finds the pages in the error by which a server of the legacy protocol asks to open them, as input requests. */
function findPages(thrown: unknown): JsonObject | undefined {
  if (!GatewayError.is(thrown) || thrown.data?.["rpcCode"] !== URL_REQUIRED) return undefined;
  const { data } = (thrown.cause ?? {}) as { data?: unknown };
  const { elicitations } = isJsonObject(data) ? data : {};
  if (!Array.isArray(elicitations) || elicitations.length === 0) return undefined;
  const requests = elicitations.map((params, index) => [
    String(index),
    { method: "elicitation/create", params },
  ]);
  return Object.fromEntries(requests);
}

/** Adds the client capabilities that a server of the modern protocol names in its error as missing. */
function withRequiredCapabilities(thrown: unknown): unknown {
  if (!GatewayError.is(thrown) || thrown.data?.["rpcCode"] !== CLIENT_CANNOT.rpc) return thrown;
  const { data } = (thrown.cause ?? {}) as { data?: unknown };
  const { requiredCapabilities } = isJsonObject(data) ? data : {};
  if (!isJsonObject(requiredCapabilities) || findJsonFault(requiredCapabilities)) return thrown;
  return new GatewayError(CLIENT_CANNOT, thrown.message, {
    cause: thrown,
    data: { requiredCapabilities, sent: false },
  });
}

function invalidRequest(server: string): GatewayError {
  const message = `The server "${server}" asks for input in a way that cannot be understood.`;
  return new GatewayError(UPSTREAM_PROTOCOL, message);
}
