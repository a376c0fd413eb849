import type { IncomingHttpHeaders } from "node:http";
import { isJsonObject, type JsonObject } from "../../core/mod.ts";
import { claimsModern, isModern, type Message } from "./_http-era.ts";
import { malformed, Refusal } from "./_http-refusal.ts";

/** A message that wants an answer. */
export type RequestMessage = Message & { readonly id: string | number };

/** What is done with messages on the way. */
export interface MessageReader {
  /** Takes the answer to a question. */
  answer(answer: JsonObject): void;
  /** Ends a request of the older era. */
  cancel(params: unknown): void;
  /** Throws a {@link Refusal} of a message of the newer era that contradicts itself. */
  check(message: Message): void;
}

const MAX_BATCH = 100;

/** Checks all messages of a body, has the notices acted on, and returns what is to be answered. */
export function readMessages(
  body: unknown,
  headers: IncomingHttpHeaders,
  reader: MessageReader,
): { readonly requests: readonly RequestMessage[]; readonly modern: boolean } {
  const isBatch = Array.isArray(body);
  const all: readonly unknown[] = isBatch ? body : [body];
  if (all.length === 0 || all.length > MAX_BATCH) {
    throw malformed(`A batch holds between one and ${MAX_BATCH} messages.`);
  }
  const messages = all.map((one) => asMessage(one, reader.answer)).filter((message) => message !== undefined);
  if (isBatch && messages.some(claimsModern))
    throw malformed("This revision of the protocol has no batches.");
  let modern = false;
  for (const message of messages) {
    modern = withId(message, () => isModern(message, headers));
    if (modern) withId(message, () => reader.check(message));
    else if (message.method === "notifications/cancelled") reader.cancel(message.params);
  }
  const requests = messages.filter((message): message is RequestMessage => message.id !== undefined);
  if (new Set(requests.map(({ id }) => id)).size < requests.length) {
    throw malformed("Two requests of a batch have the same id.");
  }
  return { requests, modern };
}

/** A request or a notification, or nothing where it is an answer. */
function asMessage(value: unknown, onAnswer: MessageReader["answer"]): Message | undefined {
  if (!isJsonObject(value) || value["jsonrpc"] !== "2.0") {
    throw malformed("This is not a message of JSON-RPC 2.0.");
  }
  const { id, method, params } = value;
  if (method === undefined && ("result" in value || "error" in value)) return void onAnswer(value);
  if (typeof method !== "string") throw malformed("A message needs a method.");
  if (id === undefined) return { method, params };
  if (typeof id !== "string" && typeof id !== "number") {
    throw malformed("The id of a request is a text or a number.");
  }
  return { id, method, params };
}

/** Has a refusal say which request it answers. */
function withId<T>({ id }: Message, work: () => T): T {
  try {
    return work();
  } catch (thrown) {
    if (thrown instanceof Refusal) thrown.id ??= id;
    throw thrown;
  }
}
