import type { JSONRPCMessage, RequestId } from "@modelcontextprotocol/client";
import { GatewayError, isJsonObject, type JsonObject } from "../../core/mod.ts";
import type { Client } from "../../core/services/clients.ts";
import { QUESTION_REFUSED } from "../../core/services/servers.ts";
import { findJsonFault } from "../lib/json.ts";
import type { OpenRequest, Requests } from "./requests.ts";

/** Dependencies of the requests that a server makes. */
interface ServerRequestsOptions {
  /** The name of the server, for messages. */
  readonly name: string;
  /** The capabilities that the server was told of; empty in the modern protocol, where servers make no requests. */
  readonly capabilities: Readonly<JsonObject>;
  readonly requests: Pick<Requests, "find">;
  /** Sends an answer to the server. */
  readonly send: (message: JSONRPCMessage) => Promise<void>;
  readonly onResourceUpdated: (uri: string) => void;
}

const questions: Readonly<Record<string, string>> = {
  "elicitation/create": "elicitation",
  "sampling/createMessage": "sampling",
  "roots/list": "roots",
};
/** Elicitations by URL whose completion may still be reported. */
const MAX_ELICITATIONS = 100;

/**
 * Creates the receiver of the requests and notifications of a server, which passes them on to the client that the server
 * works for. A user must never see a question that belongs to the call of another client, so a question whose client is
 * uncertain is refused. The receiver returns whether a message, which came on the stream of the request `related`, was
 * one for a client.
 */
export function receiveServerRequests(
  options: ServerRequestsOptions,
): (message: JSONRPCMessage, related: RequestId | undefined) => boolean {
  const { name, capabilities, requests, send } = options;
  const asked = new Map<RequestId, AbortController>();
  const elicitations = new Map<string, Client>();

  return (message, related) => {
    if (!("method" in message)) return false;
    const { method } = message;
    const params = isJsonObject(message.params) ? message.params : {};
    if (!("id" in message)) return takeNotification(method, params, related);
    if (!Object.hasOwn(capabilities, questions[method] ?? "")) return false;
    void answer(message.id, method, params, related);
    return true;
  };

  function takeNotification(method: string, params: JsonObject, related: RequestId | undefined): boolean {
    if (method === "notifications/cancelled") {
      const question = asked.get(params["requestId"] as RequestId);
      question?.abort(new GatewayError("CANCELLED", "The server took its question back."));
      return question !== undefined;
    }
    if (method === "notifications/resources/updated") {
      if (typeof params["uri"] === "string") options.onResourceUpdated(params["uri"]);
      return true;
    }
    if (method === "notifications/elicitation/complete") {
      const id = String(params["elicitationId"]);
      if (!findJsonFault(params)) elicitations.get(id)?.notify(method, stripMeta(params));
      return elicitations.delete(id);
    }
    if (method !== "notifications/message") return false;
    // A log message is dropped rather than sent to a client that it may not belong to.
    const request = findOnlyRequest(requests.find(related));
    if (!findJsonFault(params)) request?.client?.notify(method, stripMeta(params));
    return true;
  }

  async function answer(
    id: RequestId,
    method: string,
    params: JsonObject,
    related: RequestId | undefined,
  ): Promise<void> {
    const takenBack = new AbortController();
    asked.set(id, takenBack);
    let outcome: object;
    try {
      outcome = { result: await ask(method, params, { related, takenBack: takenBack.signal }) };
    } catch (thrown) {
      const error = GatewayError.from(thrown, "The client could not be asked.");
      outcome = { error: { code: toRpcCode(error), message: error.message } };
    }
    asked.delete(id);
    // A server that has taken its question back does not wait for the answer.
    if (takenBack.signal.aborted) return;
    await send({ jsonrpc: "2.0", id, ...outcome } as JSONRPCMessage).catch(() => {});
  }

  async function ask(
    method: string,
    params: JsonObject,
    { related, takenBack }: { readonly related: RequestId | undefined; readonly takenBack: AbortSignal },
  ): Promise<JsonObject> {
    const fault = findJsonFault(params);
    if (fault) throw fault;
    const request = findRecipient(name, requests.find(related));
    const { elicitationId } = params;
    if (typeof elicitationId === "string") {
      if (elicitations.size >= MAX_ELICITATIONS) elicitations.clear();
      elicitations.set(elicitationId, request.client);
    }
    const signal = AbortSignal.any([request.over, takenBack]);
    const { prepareQuestion } = await import("../lib/questions.ts");
    return request.client.ask(method, prepareQuestion(name, method, stripMeta(params)), { signal });
  }
}

type ClientRequest = OpenRequest & { readonly client: Client };

/** Finds the request that a question belongs to. Throws if that is uncertain. */
function findRecipient(name: string, open: readonly OpenRequest[]): ClientRequest {
  const request = findOnlyRequest(open);
  if (request?.client && !request.isOver) return request as ClientRequest;
  const why =
    open.length > 1 && !request
      ? "calls of several clients are pending, and it cannot be told which of them it belongs to"
      : "no client's request is pending that it could belong to";
  throw new GatewayError(QUESTION_REFUSED, `A question of the server "${name}" is not passed on: ${why}.`);
}

/** Returns a request of the client that made all of them; undefined where there are several clients. */
function findOnlyRequest(open: readonly OpenRequest[]): OpenRequest | undefined {
  const [first, ...others] = open;
  if (!others.every((other) => isSameClient(first?.client, other.client))) return undefined;
  return open.find(({ isOver }) => !isOver) ?? first;
}

/** In the modern protocol each request of a client stands for itself, and so do the questions that belong to it. */
function isSameClient(one: Client | undefined, other: Client | undefined): boolean {
  if (!one || !other) return false;
  return one === other || (one.session !== undefined && one.session === other.session);
}

/** Removes tokens that belong to the connection that a message came on. */
function stripMeta({ _meta, ...params }: JsonObject): JsonObject {
  if (!isJsonObject(_meta)) return params;
  const { progressToken: _, "io.modelcontextprotocol/related-task": __, ...rest } = _meta;
  return Object.keys(rest).length > 0 ? { ...params, _meta: rest } : params;
}

function toRpcCode({ data, kind }: GatewayError): number {
  // An error that the client answered with is passed on to the server.
  const { code } = (data ?? {}) as { code?: unknown };
  return typeof code === "number" && Number.isSafeInteger(code) ? code : kind.rpc;
}
