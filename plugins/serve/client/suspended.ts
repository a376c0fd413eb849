import { randomBytes } from "node:crypto";
import { type Actor, GatewayError, type JsonObject, localUser } from "../../../core/mod.ts";
import { canonicalJson, sha256Hex } from "../../lib/hash.ts";
import { invalidParams } from "../../lib/jsonrpc.ts";
import type { ModernClient } from "./modern.ts";
import { type ClientLimits, clientSilent } from "./pending.ts";
import { OWN_STATE } from "./questions.ts";

/** Calls that wait for modern clients to come back with answers. */
export interface SuspendedCalls {
  /** Suspends a call. Resolves with the state by which its client finds it; undefined if too many are suspended. */
  keep(
    client: ModernClient,
    method: string,
    params: JsonObject,
    actor: Actor | undefined,
  ): Promise<string> | undefined;
  has(state: string): boolean;
  /** Returns a suspended call, once, to the same request that it was suspended for. Throws if there is none. */
  take(state: string, method: string, params: JsonObject, actor: Actor | undefined): ModernClient;
  /** Cancels all of them: no client will come back. */
  close(): void;
}

interface Suspended {
  readonly client: ModernClient;
  readonly fingerprint: string;
  readonly timer: ReturnType<typeof setTimeout>;
}

/** Creates an empty store; `onKeep` hears of a state before its client does. */
export function createSuspendedCalls(
  { answerMs, suspended }: ClientLimits,
  onKeep?: (state: string) => Promise<void>,
): SuspendedCalls {
  const all = new Map<string, Suspended>();

  return {
    keep(client, method, params, actor) {
      if (all.size >= suspended) return undefined;
      // The state is looked up and never read, so it holds nothing that could be tampered with.
      const state = `${OWN_STATE}${randomBytes(24).toString("base64url")}`;
      const timer = setTimeout(() => remove(state)?.client.cancel(clientSilent(answerMs)), answerMs);
      timer.unref?.();
      all.set(state, { client, fingerprint: fingerprint(method, params, actor), timer });
      client.suspend();
      return Promise.resolve(onKeep?.(state)).then(() => state);
    },
    has: (state) => all.has(state),
    take(state, method, params, actor) {
      const kept = all.get(state);
      if (!kept) {
        throw unusable("is not known, was used before, or is too old. Make the request again without it");
      }
      if (kept.fingerprint !== fingerprint(method, params, actor)) {
        throw unusable("belongs to another request. Make the request that it was given out for");
      }
      remove(state);
      return kept.client;
    },
    close() {
      for (const state of [...all.keys()]) {
        remove(state)?.client.cancel(
          new GatewayError("CLOSED", "The gateway closed before the client had answered."),
        );
      }
    },
  };

  function remove(state: string): Suspended | undefined {
    const kept = all.get(state);
    if (kept) clearTimeout(kept.timer);
    all.delete(state);
    return kept;
  }
}

function fingerprint(method: string, params: JsonObject, actor: Actor = localUser): string {
  const { _meta, inputResponses, requestState, ...rest } = params;
  return sha256Hex(canonicalJson([method, actor.id, rest]));
}

function unusable(why: string): Error {
  return invalidParams(`This requestState ${why}.`, { reason: "invalid_request_state" });
}
