import type { JsonObject } from "../../core/mod.ts";
import { canonicalJson } from "../lib/hash.ts";
import { createHasher } from "./key.ts";

/** Hashes records under a key that only the gateway's user can read, so that no one else can write them anew. */
export interface Signer {
  /** Names the key, and tells nothing about it. */
  readonly keyId: string;
  /** Hashes a string under the key (HMAC). */
  sign(text: string): string;
}

/** Where the records of a file end: a file that ends earlier was cut. */
export interface Anchor {
  readonly chain: string;
  readonly seq: number;
  /** Hash of that record. */
  readonly hash: string;
  /** Path of the file. */
  readonly file: string;
  readonly timestamp: string;
  /** Key of the records and of this anchor; none if it could not be read. */
  readonly key_id?: string | undefined;
  /** Whether the file was removed because of its age, or the size of all. */
  readonly removed?: true | undefined;
  /** HMAC of the rest. */
  readonly mac?: string | undefined;
}

/** Key and store of the anchors of a file of records. */
export interface Seal {
  /** Returns the key; undefined if it cannot be read: records then have hashes that need none. */
  signer(): Signer | undefined;
  /** Keeps an anchor in place of the one before. Never rejects; returns whether it is kept everywhere. */
  keep(anchor: Anchor): Promise<boolean>;
}

/** Creates the signer of an installation key. Its own keys are derived, as arguments are hashed under that one too. */
export function createSigner(key: Buffer): Signer {
  const derive = createHasher(key);
  return {
    keyId: derive("toolpipe audit: name of the key").slice(0, 16),
    sign: createHasher(Buffer.from(derive("toolpipe audit: key of the records"), "hex")),
  };
}

/** Adds the code under the key, without which an anchor could be written anew like a record. */
export function signAnchor({ mac: _, ...anchor }: Anchor, signer: Signer | undefined): Anchor {
  return signer ? { ...anchor, mac: signer.sign(`anchor ${canonicalJson(anchor)}`) } : anchor;
}

/** Returns whether an anchor is as it was signed. */
export function isSigned(anchor: Anchor, signer: Signer): boolean {
  return signAnchor(anchor, signer).mac === anchor.mac;
}

/** Reads an anchor; undefined if it is none. */
export function toAnchor(value: JsonObject | undefined): Anchor | undefined {
  const { chain, seq, hash, file, timestamp } = value ?? {};
  const isAnchor =
    [chain, hash, file, timestamp].every((each) => typeof each === "string") && Number.isSafeInteger(seq);
  return isAnchor ? (value as unknown as Anchor) : undefined;
}
