import { type CallInput, GatewayError, isJsonObject, type JsonObject } from "../../core/mod.ts";
import { CLIENT_CANNOT, type Client } from "../serve/client.ts";
import { faultOf } from "./_foreign-json.ts";
import { QUESTION_REFUSED, UPSTREAM_PROTOCOL } from "./errors.ts";

/** Who a request is made for, and what came with it. */
export interface Asking {
  /** The name of the server, for messages. */
  readonly server: string;
  readonly client?: Client | undefined;
  readonly input?: CallInput | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A server may ask again when it has an answer, but not for ever. */
const MAX_ROUNDS = 10;
const MAX_QUESTIONS = 100;
const URL_REQUIRED = -32042;
const methods = new Set(["elicitation/create", "sampling/createMessage", "roots/list"]);

/** Whether a result is no answer, but questions of a server of the newer era. */
export function isQuestion(result: { readonly resultType?: unknown }): boolean {
  return result.resultType === "input_required";
}

/**
 * Makes a request, and sees to it that what its server asks is answered. A client of the newer era gets the questions
 * as they are, and brings its answers with the next request: nothing is kept here. One of the older era is asked each of
 * them, and the request is made again with the answers.
 */
export function throughQuestions<T extends { readonly resultType?: unknown }>(
  send: (input: CallInput | undefined) => Promise<T>,
  asking: Asking,
): Promise<T> {
  let hasOpened = false;
  let rounds = 0;
  return attempt(asking.input);

  function attempt(input: CallInput | undefined): Promise<T> {
    return send(input).then(
      (result) => (isQuestion(result) ? answered(result) : result),
      (thrown) => opened(thrown, input),
    );
  }

  async function answered(result: T): Promise<T> {
    const { client, server, signal } = asking;
    if (client?.era === "modern") return result;
    if (!client) {
      const message = `The server "${server}" asks for input, and there is no client that could give it.`;
      throw new GatewayError(QUESTION_REFUSED, message, { data: { sent: false } });
    }
    if (rounds++ >= MAX_ROUNDS) {
      const message = `The server "${server}" has asked for input ${MAX_ROUNDS} times and still does not answer.`;
      throw new GatewayError(UPSTREAM_PROTOCOL, message);
    }
    const { inputRequests, requestState } = result as JsonObject;
    return attempt({
      responses: await answersOf(client, inputRequests, { server, signal }),
      state: requestState,
    });
  }

  /** Some requests fail because a person has to open a page first. */
  async function opened(thrown: unknown, input: CallInput | undefined): Promise<T> {
    const pages = hasOpened ? undefined : pagesIn(thrown);
    const { client, server } = asking;
    if (!client || !pages) throw client ? lacking(thrown) : thrown;
    // Once: whoever has not done there yet what is to be done is told so, and not asked over and over.
    hasOpened = true;
    const answers = Object.values(await answersOf(client, pages, { server, signal: asking.signal }));
    if (!answers.every((answer) => (answer as JsonObject)["action"] === "accept")) throw thrown;
    return attempt(input);
  }
}

/** One after another: a person reads one question at a time. */
async function answersOf(
  client: Client,
  questions: unknown,
  { server, signal }: Pick<Asking, "server" | "signal">,
): Promise<JsonObject> {
  const asked = isJsonObject(questions) ? Object.entries(questions) : [];
  if (asked.length > MAX_QUESTIONS) throw unreadable(server);
  const answers: [string, JsonObject][] = [];
  for (const [key, question] of asked) {
    const { method, params = {} } = isJsonObject(question) ? question : {};
    if (typeof method !== "string" || !methods.has(method) || !isJsonObject(params)) throw unreadable(server);
    const fault = faultOf(params);
    if (fault) throw fault;
    try {
      answers.push([key, await client.ask(method, params, signal ? { signal } : {})]);
    } catch (thrown) {
      throw unanswered(thrown);
    }
  }
  return Object.fromEntries(answers);
}

/** A server that still asks has not done what it was called for. */
function unanswered(thrown: unknown): GatewayError {
  const { kind, message, data } = GatewayError.from(thrown, "The client could not be asked.");
  return new GatewayError(kind, message, { cause: thrown, data: { ...data, sent: false } });
}

/** A server of the older era may say by an error that a person has to open pages first: the same as questions. */
function pagesIn(thrown: unknown): JsonObject | undefined {
  if (!GatewayError.is(thrown) || thrown.data?.["rpcCode"] !== URL_REQUIRED) return undefined;
  const { data } = (thrown.cause ?? {}) as { data?: unknown };
  const { elicitations } = isJsonObject(data) ? data : {};
  if (!Array.isArray(elicitations) || elicitations.length === 0) return undefined;
  const questions = elicitations.map((params, index) => [
    String(index),
    { method: "elicitation/create", params },
  ]);
  return Object.fromEntries(questions);
}

/** A server of the newer era says by an error of its own what a client would have to be able to do. */
function lacking(thrown: unknown): unknown {
  if (!GatewayError.is(thrown) || thrown.data?.["rpcCode"] !== CLIENT_CANNOT.rpc) return thrown;
  const { data } = (thrown.cause ?? {}) as { data?: unknown };
  const { requiredCapabilities } = isJsonObject(data) ? data : {};
  if (!isJsonObject(requiredCapabilities) || faultOf(requiredCapabilities)) return thrown;
  return new GatewayError(CLIENT_CANNOT, thrown.message, {
    cause: thrown,
    data: { requiredCapabilities, sent: false },
  });
}

function unreadable(server: string): GatewayError {
  const message = `The server "${server}" asks for input in a way that cannot be understood.`;
  return new GatewayError(UPSTREAM_PROTOCOL, message);
}
