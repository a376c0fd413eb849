import type { Actor, MaybePromise } from "../../core/mod.ts";

/** Knows people by what they show. */
export interface Authenticator {
  /** Whose token this is; nobody's where it is none of its own. Throws where it is one, and does not count. */
  actorOf(token: string): MaybePromise<Actor | undefined>;
}
