import { randomBytes } from "node:crypto";
import { type Actor, GatewayError, type JsonObject, localUser } from "../../core/mod.ts";
import { canonicalJson, sha256 } from "../guard/canonical.ts";
import { late } from "./_asking.ts";
import type { Dialogue } from "./_dialogue.ts";
import { invalid } from "./_handler.ts";
import { OWN_STATE } from "./_input.ts";
import type { AskLimits } from "./_served-client.ts";

/** A request, as far as another must be the same to go on with what it began. */
export interface Same {
  readonly method: string;
  readonly params: JsonObject;
  readonly actor: Actor | undefined;
}

/** What waits for clients of the newer era to come back with answers. */
export interface Suspended {
  /** Keeps a dialogue, and returns by what it can be found; nothing where too many are kept. */
  keep(dialogue: Dialogue, request: Same): string | undefined;
  /** Whether one is kept here under a state. */
  has(state: string): boolean;
  /** Gives it back, once, to the request that it belongs to. Throws where there is none. */
  take(state: string, request: Same): Dialogue;
  /** Ends them all: nobody will come back. */
  close(): void;
}

interface Kept {
  readonly dialogue: Dialogue;
  readonly fingerprint: string;
  readonly timer: ReturnType<typeof setTimeout>;
}

/** Makes a place for what waits. */
export function createSuspended({ answerMs, suspended }: AskLimits): Suspended {
  const all = new Map<string, Kept>();

  const remove = (state: string): Kept | undefined => {
    const kept = all.get(state);
    if (kept) clearTimeout(kept.timer);
    all.delete(state);
    return kept;
  };

  return {
    keep(dialogue, request) {
      if (all.size >= suspended) return undefined;
      // It is looked up and never read, so there is nothing in it that could be tampered with.
      const state = `${OWN_STATE}${randomBytes(24).toString("base64url")}`;
      const timer = setTimeout(() => remove(state)?.dialogue.end(late(answerMs)), answerMs);
      timer.unref?.();
      all.set(state, { dialogue, fingerprint: fingerprintOf(request), timer });
      return state;
    },
    has: (state) => all.has(state),
    take(state, request) {
      const kept = all.get(state);
      if (!kept) {
        throw unusable("is not known, was used before, or is too old. Make the request again without it");
      }
      if (kept.fingerprint !== fingerprintOf(request)) {
        throw unusable("belongs to another request. Make the request that it was given out for");
      }
      remove(state);
      return kept.dialogue;
    },
    close() {
      for (const state of [...all.keys()]) {
        remove(state)?.dialogue.end(
          new GatewayError("CLOSED", "The gateway closed before the client had answered."),
        );
      }
    },
  };
}

function fingerprintOf({ method, params, actor = localUser }: Same): string {
  const { _meta, inputResponses, requestState, ...rest } = params;
  return sha256(canonicalJson([method, actor.id, rest]));
}

function unusable(why: string): Error {
  return invalid(`This requestState ${why}.`, { reason: "invalid_request_state" });
}
