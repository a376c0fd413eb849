import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { isJsonObject, type JsonObject } from "../../core/mod.ts";

/** Takes results as a server sent them. */
export interface RawResults {
  /** Runs a request whose parameters were marked, and returns the result that it had on the wire. */
  take(params: JsonObject, request: (params: JsonObject) => Promise<unknown>): Promise<JsonObject>;
}

interface Slot {
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
});

/** Puts itself between a connected client and its transport. */
export function rawResults(transport: Transport): RawResults {
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
    async take(params, request) {
      const slot: Slot = {};
      try {
        await request({ ...params, [slotKey]: slot });
      } finally {
        for (const [id, other] of slots) if (other === slot) slots.delete(id);
      }
      const { resultType: _, ...result } = slot.value ?? {};
      return result;
    },
  };

  function setAside<T extends JSONRPCMessage>(message: T): T {
    if (!("result" in message)) return message;
    const slot = slots.get(message.id);
    if (!slot || !isJsonObject(message.result) || message.result["resultType"] === "input_required") {
      return message;
    }
    slot.value = message.result;
    return { ...message, result: standIn };
  }
}

function slotOf(params: unknown): Slot | undefined {
  return (params as { [slotKey]?: Slot } | undefined)?.[slotKey];
}
