import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { StateStore } from "../../core/services/state.ts";
import { sha256Hex } from "../lib/hash.ts";

/** The one call that a confirmation is valid for. */
export interface Confirmed {
  readonly actor: string;
  readonly tool: string;
  /** The hash of the tool's definition. */
  readonly definition: string;
  /** The hash of the arguments. */
  readonly args: string;
}

/** Issues confirmation tokens, and accepts each once. */
export interface Confirmations {
  /** Issues a token that confirms this call for a limited time. */
  issue(confirmed: Confirmed): Promise<{ readonly token: string; readonly expiresAt: number }>;
  /**
   * Uses a token up. Returns false if it was issued for another call, has expired, or was used already. A token that
   * was used for the same purpose is accepted again: a call repeated under its idempotency key is confirmed as well.
   */
  use(token: string, confirmed: Confirmed, purpose: string): Promise<boolean>;
  /** Makes a token usable again, after a call without effect. */
  giveBack(token: string, purpose: string): Promise<void>;
  /** Deletes the records of expired tokens. */
  sweep(): Promise<void>;
}

interface ConfirmationsOptions {
  /** Milliseconds since 1970. */
  readonly wall: () => number;
  /** Time for which a token is valid. */
  readonly ttlMs: number;
}

const SECRET = "guard/secret";
const USED = "confirmations/";
const TOKEN = /^tc1\.(\d{1,16})\.([0-9a-f]{32})\.([0-9a-f]{64})$/;

/** Keeps the secret and the used tokens in a store, so that all processes that share it accept each token once. */
export function createConfirmations(store: StateStore, { wall, ttlMs }: ConfirmationsOptions): Confirmations {
  let secret: Promise<string> | undefined;

  const mac = async (confirmed: Confirmed, expiresAt: string, nonce: string): Promise<string> => {
    secret ??= readSecret(store);
    secret.catch(() => {
      secret = undefined;
    });
    const { actor, tool, definition, args } = confirmed;
    return createHmac("sha256", await secret)
      .update(JSON.stringify([actor, tool, definition, args, expiresAt, nonce]))
      .digest("hex");
  };

  return {
    async issue(confirmed) {
      const expiresAt = Math.round(wall() + ttlMs);
      const nonce = randomBytes(16).toString("hex");
      return {
        token: `tc1.${expiresAt}.${nonce}.${await mac(confirmed, String(expiresAt), nonce)}`,
        expiresAt,
      };
    },
    async use(token, confirmed, purpose) {
      const [, expiresAt = "", nonce = "", given = ""] = TOKEN.exec(token) ?? [];
      if (given === "" || !isSame(given, await mac(confirmed, expiresAt, nonce))) return false;
      if (wall() >= Number(expiresAt)) return false;
      const by = sha256Hex(purpose);
      if (await store.setIfAbsent(USED + nonce, { by, expiresAt: Number(expiresAt) })) return true;
      return (await store.get(USED + nonce))?.value["by"] === by;
    },
    async giveBack(token, purpose) {
      const nonce = TOKEN.exec(token)?.[2];
      const entry = nonce === undefined ? undefined : await store.get(USED + nonce);
      if (entry && entry.value["by"] === sha256Hex(purpose)) await store.delete(entry.key, entry.version);
    },
    async sweep() {
      for (const { key, value, version } of await store.list(USED)) {
        if (!(wall() < Number(value["expiresAt"]))) await store.delete(key, version);
      }
    },
  };
}

/** Reads the secret of this installation, or creates it; of several processes at once, one creates it. */
async function readSecret(store: StateStore): Promise<string> {
  await store.setIfAbsent(SECRET, { secret: randomBytes(32).toString("hex") });
  const secret = (await store.get(SECRET))?.value["secret"];
  if (typeof secret !== "string" || secret === "") throw new Error("The secret of the guard is damaged.");
  return secret;
}

function isSame(a: string, b: string): boolean {
  return a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));
}
