import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { GatewayError, isJsonObject, type JsonObject } from "../../core/mod.ts";
import { faultOf } from "./_foreign-json.ts";
import type { Owner } from "./_owner.ts";
import { QUESTION_REFUSED } from "./errors.ts";
import { relatedTo } from "./related.ts";

/** What is needed to know who a server speaks to. */
export interface ServerRequestParts {
  /** The name of the server, for messages. */
  readonly name: string;
  /** What the server was told that clients can be asked for; one of the newer era makes no requests at all. */
  readonly capabilities: Readonly<JsonObject>;
  /** Whose requests are under way: the one with this id or, where none is given, all. */
  readonly owners: (id?: unknown) => readonly Owner[];
  /** Takes a notice that others need not get; returns whether it was one. */
  readonly hear: (method: string, params: JsonObject) => boolean;
  readonly onResourceUpdated: (uri: string) => void;
}

type Id = string | number;

const questions: Readonly<Record<string, string>> = {
  "elicitation/create": "elicitation",
  "sampling/createMessage": "sampling",
  "roots/list": "roots",
};
/** Forms on other pages that may still be reported as done. */
const MAX_PAGES = 100;

/**
 * Takes what a server asks and tells while it works, and passes it on to whoever it works for. A person must never see
 * a question that belongs to somebody else's call, so that what cannot be told apart is refused.
 */
export function serverRequests(transport: Transport, parts: ServerRequestParts): void {
  const { name, capabilities } = parts;
  const deliver = transport.onmessage;
  const asked = new Map<Id, AbortController>();
  const pages = new Map<string, Owner>();

  transport.onmessage = (message, extra) => {
    if (!("method" in message)) return deliver?.(message, extra);
    const { method } = message;
    const params = isJsonObject(message.params) ? message.params : {};
    const related = relatedTo(extra);
    if ("id" in message && Object.hasOwn(capabilities, questions[method] ?? "")) {
      return void answer(message.id as Id, method, params, related);
    }
    if ("id" in message || !(parts.hear(method, params) || hear(method, params, related))) {
      deliver?.(message, extra);
    }
  };

  /** Whether it was a notice that is passed on. */
  function hear(method: string, params: JsonObject, related: unknown): boolean {
    if (method === "notifications/cancelled" && asked.has(params["requestId"] as Id)) {
      asked.get(params["requestId"] as Id)?.abort(new GatewayError("CANCELLED", "The server took it back."));
      return true;
    }
    if (method === "notifications/resources/updated") {
      if (typeof params["uri"] === "string") parts.onResourceUpdated(params["uri"]);
      return true;
    }
    if (method === "notifications/elicitation/complete") {
      const id = String(params["elicitationId"]);
      if (!faultOf(params)) pages.get(id)?.client?.tell(method, withoutMeta(params));
      return pages.delete(id);
    }
    if (method !== "notifications/message") return false;
    // It is better not read at all than read by somebody it does not belong to.
    const owner = theOne(parts.owners(related));
    if (!faultOf(params)) owner?.client?.tell(method, withoutMeta(params));
    return true;
  }

  async function answer(id: Id, method: string, params: JsonObject, related: unknown): Promise<void> {
    const taken = new AbortController();
    asked.set(id, taken);
    let outcome: object;
    try {
      outcome = { result: await ask(method, params, { related, taken: taken.signal }) };
    } catch (thrown) {
      const error = GatewayError.from(thrown, "The client could not be asked.");
      outcome = { error: { code: rpcCodeOf(error), message: error.message } };
    }
    asked.delete(id);
    // A server that has taken its question back does not wait for the answer.
    if (taken.signal.aborted) return;
    await transport.send({ jsonrpc: "2.0", id, ...outcome } as JSONRPCMessage).catch(() => {});
  }

  async function ask(
    method: string,
    params: JsonObject,
    { related, taken }: { readonly related: unknown; readonly taken: AbortSignal },
  ): Promise<JsonObject> {
    const fault = faultOf(params);
    if (fault) throw fault;
    const owner = addressee(name, parts.owners(related));
    const { client } = owner;
    const { elicitationId } = params;
    if (typeof elicitationId === "string") {
      if (pages.size >= MAX_PAGES) pages.clear();
      pages.set(elicitationId, owner);
    }
    return client.ask(method, withoutMeta(params), { signal: AbortSignal.any([owner.over, taken]) });
  }
}

/** Who a question is for, where that is certain. */
function addressee(name: string, owners: readonly Owner[]): Owner & { client: NonNullable<Owner["client"]> } {
  const owner = theOne(owners);
  if (owner?.client && !owner.isOver) return owner as Owner & { client: NonNullable<Owner["client"]> };
  const why =
    owners.length > 1 && !owner
      ? "calls of several clients are under way, and it cannot be told which of them it belongs to"
      : "no client's request is under way that it could belong to";
  throw new GatewayError(QUESTION_REFUSED, `A question of the server "${name}" is not passed on: ${why}.`);
}

/** The one they all are; nobody where they are several. */
function theOne(owners: readonly Owner[]): Owner | undefined {
  const [first, ...others] = owners;
  if (!others.every((other) => isSame(first?.client, other.client))) return undefined;
  return owners.find(({ isOver }) => !isOver) ?? first;
}

/** In the newer era each request of a client stands for itself, and so do the questions that belong to it. */
function isSame(one: Owner["client"], other: Owner["client"]): boolean {
  if (!one || !other) return false;
  return one === other || (one.peer !== undefined && one.peer === other.peer);
}

/** Tokens in it belong to the connection it came on. */
function withoutMeta({ _meta, ...params }: JsonObject): JsonObject {
  if (!isJsonObject(_meta)) return params;
  const { progressToken: _, "io.modelcontextprotocol/related-task": __, ...rest } = _meta;
  return Object.keys(rest).length > 0 ? { ...params, _meta: rest } : params;
}

function rpcCodeOf({ data, kind }: GatewayError): number {
  // Where the client answered with an error, its server gets to know which.
  const { code } = (data ?? {}) as { code?: unknown };
  return typeof code === "number" && Number.isSafeInteger(code) ? code : kind.rpc;
}
