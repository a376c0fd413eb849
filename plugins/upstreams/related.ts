import { AsyncLocalStorage } from "node:async_hooks";
import type { Transport } from "@modelcontextprotocol/client";

type Extra = Parameters<NonNullable<Transport["onmessage"]>>[1];

// A symbol, so that no field of the SDK's own is ever taken for it.
const requestKey = Symbol("toolpipe related request");
const sending = new AsyncLocalStorage<{ readonly on: object; readonly id: string | number }>();

/**
 * Sends a request such that whatever comes on the stream of its answer is known to belong to it. The SDK reads that
 * stream as part of the sending, and tells nobody which one a message came on.
 */
export function sendRelated<T>(on: object, id: string | number, send: () => T): T {
  return sending.run({ on, id }, send);
}

/** Notes with a message that arrives which request it came on the stream of, where that is known. */
export function withRelated(on: object, extra: Extra): Extra {
  const sent = sending.getStore();
  // Two connections number their requests alike.
  return sent?.on === on ? ({ ...extra, [requestKey]: sent.id } as Extra) : extra;
}

/** The request that a message belongs to. */
export function relatedTo(extra: Extra): string | number | undefined {
  return (extra as { readonly [requestKey]?: string | number } | undefined)?.[requestKey];
}
