import { createHash, timingSafeEqual } from "node:crypto";
import type { Authenticator } from "../../core/services/auth.ts";

/** A token in the config, which holds its hash only. */
export interface StaticToken {
  /** The SHA-256 of the token, as `toolpipe token` prints it. */
  readonly sha256: string;
  /** The name of its owner. */
  readonly actor: string;
  readonly scopes?: readonly string[] | undefined;
  /** The time after which it is refused, an ISO date. */
  readonly expires?: string | undefined;
}

/**
 * Accepts tokens of the config. They are long and random, so a plain hash reveals nothing about them; all are compared,
 * each in constant time, so the time of an answer reveals nothing either.
 */
export function createTokenAuthenticator(
  tokens: readonly StaticToken[],
  now: () => number = Date.now,
): Authenticator {
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
