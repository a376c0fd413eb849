import type { JsonObject } from "../../core/mod.ts";
import { RpcError, rpcCodes } from "./protocol.ts";

/** What a client calls its request. */
export type Id = string | number;

/** A request on its way. */
export interface Underway {
  readonly id: Id;
  readonly abort: AbortController;
  /** Whether it is of the newer era. */
  modern: boolean;
  /** Whether it has come to something that may do more than read. */
  hasEffects: boolean;
}

/** Answers the requests of one method. */
export type Handler = (params: JsonObject, request: Underway) => unknown;

/** Nothing may be kept by a client: the catalog changes when it changes. */
export const cacheable = { ttlMs: 0, cacheScope: "private" } as const;

/** The error of a method that is not there. */
export function notFound(method: string): RpcError {
  return new RpcError(rpcCodes.methodNotFound, `There is no method "${method.slice(0, 80)}".`);
}
