import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { isJsonObject, type JsonObject } from "../../core/mod.ts";
import { LINGER_MS, type Owner } from "./_owner.ts";

/** Takes results as a server sent them. */
export interface RawResults {
  /**
   * Runs a request whose parameters were marked, and returns the result that it had on the wire. Where somebody made it,
   * that is known while it is under way.
   */
  take(
    params: JsonObject,
    request: (params: JsonObject) => Promise<unknown>,
    owner?: Owner,
  ): Promise<JsonObject>;
  /** Whose requests are under way, or were given up a moment ago: the one with this id or, where none is given, all. */
  owners(id?: unknown): readonly Owner[];
}

interface Slot {
  readonly owner: Owner | undefined;
  isAnswered: boolean;
  value?: JsonObject;
}

// A symbol survives the copies that the client makes of the parameters, and is never written to the wire.
const slotKey = Symbol("toolpipe raw result");

/**
 * What the client is given in place of a result. It checks the whole of a list against its schema, so that
 * one bad tool would cost all; this passes every check, and the real one is checked by us, piece by piece.
 */
const standIn: JsonObject = Object.freeze({
  resultType: "complete",
  ttlMs: 0,
  cacheScope: "private",
  isError: true,
  content: [],
  tools: [],
  prompts: [],
  resources: [],
  resourceTemplates: [],
  contents: [],
  messages: [],
  completion: Object.freeze({ values: [] }),
});

/** Puts itself between a connected client and its transport. Only the newer era knows results that are questions. */
export function rawResults(transport: Transport, { modern }: { readonly modern: boolean }): RawResults {
  const slots = new Map<unknown, Slot>();
  const send = transport.send.bind(transport);
  const deliver = transport.onmessage;

  transport.send = (message, options) => {
    const slot = "id" in message && "params" in message ? slotOf(message.params) : undefined;
    if (slot) slots.set((message as { id: unknown }).id, slot);
    return send(message, options);
  };
  transport.onmessage = (message, extra) => {
    if ("method" in message) deliver?.(message, extra);
    // The client handles a notification a moment after it came, and by then would have forgotten what the answer
    // behind it ends: the last progress of a call would be lost.
    else queueMicrotask(() => deliver?.(setAside(message), extra));
  };

  return {
    async take(params, request, owner) {
      const slot: Slot = { owner, isAnswered: false };
      try {
        await request({ ...params, [slotKey]: slot });
      } finally {
        for (const [id, other] of slots) if (other === slot) forget(id, slot);
      }
      const { resultType, ...result } = slot.value ?? {};
      return resultType === "input_required" && modern ? { ...result, resultType } : result;
    },
    owners(id) {
      const found = id === undefined ? [...slots.values()] : [slots.get(id)];
      return found.flatMap((slot) => slot?.owner ?? []);
    },
  };

  function forget(id: unknown, { owner, isAnswered }: Slot): void {
    if (isAnswered || !owner) slots.delete(id);
    else setTimeout(() => slots.delete(id), LINGER_MS).unref?.();
  }

  function setAside<T extends JSONRPCMessage>(message: T): T {
    const slot = "id" in message ? slots.get(message.id) : undefined;
    if (!slot) return message;
    slot.isAnswered = true;
    if (slot.owner?.isOver) slots.delete((message as { id?: unknown }).id);
    if (!("result" in message) || !isJsonObject(message.result)) return message;
    slot.value = message.result;
    return { ...message, result: standIn };
  }
}

function slotOf(params: unknown): Slot | undefined {
  return (params as { [slotKey]?: Slot } | undefined)?.[slotKey];
}
