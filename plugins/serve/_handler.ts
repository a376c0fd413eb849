import {
  type Actor,
  type CallInput,
  type Cancellation,
  isJsonObject,
  type JsonObject,
  type Progress,
} from "../../core/mod.ts";
import type { ServedClient } from "./_served-client.ts";
import type { Client } from "./client.ts";
import { RpcError, rpcCodes } from "./protocol.ts";

/** What a client calls its request. */
export type Id = string | number;

/** What a handler knows of what it answers, which in the newer era may be several requests one after another. */
export interface Handling {
  readonly id: Id;
  /** Whether it is of the newer era. */
  readonly modern: boolean;
  readonly cancellation: Cancellation;
  /** The local user where nobody is named. */
  readonly actor: Actor | undefined;
  /** What the client calls itself, also where it cannot be asked anything. */
  readonly info?: Client["info"];
  /** Who can be asked and told things meanwhile. */
  readonly client: ServedClient | undefined;
  /** The answers to what somebody behind us asked, and where they were then. */
  readonly input: CallInput | undefined;
  /** Tells the client how far it is; not there where it did not ask for that. */
  readonly report: ((progress: Progress) => void) | undefined;
  /** To be called when it has come to something that may do more than read. */
  readonly onEffect: () => void;
}

/** Answers the requests of one method. */
export type Handler = (params: JsonObject, handling: Handling) => unknown;

/** Handlers by their methods. */
export type Handlers = Readonly<Record<string, Handler>>;

/** Nothing may be kept by a client: the catalog changes when it changes. */
export const cacheable = { ttlMs: 0, cacheScope: "private" } as const;

/** The metadata of a request, where it is any. */
export function metaIn(value: unknown): Readonly<JsonObject> | undefined {
  return isJsonObject(value) ? value : undefined;
}

/** The error of a method that is not there. */
export function notFound(method: string): RpcError {
  return new RpcError(rpcCodes.methodNotFound, `There is no method "${method.slice(0, 80)}".`);
}

/** The error of params that are not what a method takes. */
export function invalid(message: string, data?: unknown): RpcError {
  return new RpcError(rpcCodes.invalidParams, message, data);
}
