import { createHash, timingSafeEqual } from "node:crypto";
import type { Authenticator } from "./authenticator.ts";

/** A token of somebody, of which only the hash is known here. */
export interface StaticToken {
  /** The SHA-256 of the token, as `toolpipe token` prints it. */
  readonly sha256: string;
  /** Whose it is. */
  readonly actor: string;
  readonly scopes?: readonly string[] | undefined;
  /** It no longer counts after this moment, an ISO date. */
  readonly expires?: string | undefined;
}

/**
 * Knows tokens that were given out by hand. They are long and random, so that a plain hash of one says nothing about
 * it; all are compared, and each in the same time, so that the time of an answer says nothing either.
 */
export function staticTokens(tokens: readonly StaticToken[], now: () => number = Date.now): Authenticator {
  const known = tokens.map(({ sha256, actor, scopes = [], expires }) => ({
    hash: Buffer.from(sha256, "hex"),
    actor: Object.freeze({ id: actor, scopes: Object.freeze([...scopes]) }),
    until: expires === undefined ? Number.POSITIVE_INFINITY : Date.parse(expires),
  }));
  return {
    actorOf(token) {
      const hash = createHash("sha256").update(token).digest();
      const [found] = known.filter((each) => timingSafeEqual(each.hash, hash));
      return found && now() < found.until ? found.actor : undefined;
    },
  };
}
