import type { IncomingHttpHeaders } from "node:http";
import { isJsonObject, type JsonObject } from "../../../core/mod.ts";
import { HttpRefusal, malformed } from "../../lib/jsonrpc.ts";
import { isAnswerMessage, toId } from "../protocol/messages.ts";
import { claimsModern, isModern, type Message } from "./headers.ts";

/** A message that wants an answer. */
export type RequestMessage = Message & { readonly id: string | number };

/** Actions on messages while they are read. */
interface MessageActions {
  /** Takes the answer to a question. */
  answer(answer: JsonObject): void;
  /** Cancels a legacy request. */
  cancel(params: unknown): void;
  /** Throws a {@link HttpRefusal} if a modern message contradicts its headers. */
  check(message: Message): void;
}

const MAX_BATCH = 100;

/** Checks all messages of a body, acts on the answers and notifications, and returns the requests. */
export function readMessages(
  body: unknown,
  headers: IncomingHttpHeaders,
  actions: MessageActions,
): { readonly requests: readonly RequestMessage[]; readonly modern: boolean } {
  const isBatch = Array.isArray(body);
  const all: readonly unknown[] = isBatch ? body : [body];
  if (all.length === 0 || all.length > MAX_BATCH) {
    throw malformed(`A batch holds between one and ${MAX_BATCH} messages.`);
  }
  const messages = all
    .map((one) => parseMessage(one, actions.answer))
    .filter((message) => message !== undefined);
  if (isBatch && messages.some(claimsModern)) throw malformed("This protocol version has no batches.");
  let modern = false;
  for (const message of messages) {
    modern = withId(message, () => isModern(message, headers));
    if (modern) withId(message, () => actions.check(message));
    else if (message.method === "notifications/cancelled") actions.cancel(message.params);
  }
  const requests = messages.filter((message): message is RequestMessage => message.id !== undefined);
  if (new Set(requests.map(({ id }) => id)).size < requests.length) {
    throw malformed("Two requests of a batch have the same id.");
  }
  return { requests, modern };
}

/** A request or a notification; undefined for an answer. */
function parseMessage(value: unknown, onAnswer: MessageActions["answer"]): Message | undefined {
  if (!isJsonObject(value) || value["jsonrpc"] !== "2.0") {
    throw malformed("This is not a message of JSON-RPC 2.0.");
  }
  const { id, method, params } = value;
  if (isAnswerMessage(value)) return void onAnswer(value);
  if (typeof method !== "string") throw malformed("A message needs a method.", toId(id));
  if (id === undefined) return { method, params };
  if (typeof id !== "string" && typeof id !== "number") {
    throw malformed("The id of a request is a string or a number.");
  }
  return { id, method, params };
}

/** Adds the id of the request to a refusal. */
function withId<T>({ id }: Message, work: () => T): T {
  try {
    return work();
  } catch (thrown) {
    if (thrown instanceof HttpRefusal) thrown.id ??= id;
    throw thrown;
  }
}
