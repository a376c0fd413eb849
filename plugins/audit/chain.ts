import { randomBytes } from "node:crypto";
import type { AuditNote, AuditRecord, ChainedRecord } from "../../core/services/audit.ts";
import { canonicalJson, sha256Hex } from "../lib/hash.ts";
import type { Signer } from "./seal.ts";

/** Hash before the first record of all. */
export const NOTHING_BEFORE: string = "0".repeat(64);

/** Links records by hash. */
export interface Chain {
  readonly id: string;
  /** Appends a record and returns it as JSON, without unknown fields. */
  link(record: AuditRecord | AuditNote): string;
  /** The last record, to go back to if those after it could not be written. */
  readonly end: ChainEnd;
  goBack(to: ChainEnd): void;
}

/** The last record of a chain. */
export interface ChainEnd {
  readonly seq: number;
  readonly hash: string;
}

/** Starts a chain after the record with this hash. Without a signer, hashes need no key. */
export function createChain(after: string = NOTHING_BEFORE, signer?: Signer): Chain {
  const toHash = signer?.sign ?? sha256Hex;
  const keyId = signer?.keyId;
  const chain = randomBytes(8).toString("hex");
  let end: ChainEnd = { seq: 0, hash: after };
  return {
    id: chain,
    link(record) {
      const seq = end.seq + 1;
      const canonical = canonicalRecord(record, { chain, key_id: keyId, seq, prev_hash: end.hash });
      const hash = toHash(canonical);
      end = { seq, hash };
      // The hashed string is reused: serializing twice would double the cost.
      return `${canonical.slice(0, -1)},"hash":"${hash}"}`;
    },
    get end() {
      return end;
    },
    goBack(to) {
      end = to;
    },
  };
}

/** Computes the hash that a record must have: under the key, or one that needs none. */
export function hashRecord(record: object, signer?: Signer): string {
  const { hash: _, ...rest } = record as { hash?: unknown };
  return (signer?.sign ?? sha256Hex)(canonicalJson(rest));
}

/**
 * Serializes a record with its place in the chain to canonical JSON, which `JSON.stringify` writes if the fields are in
 * the right order. They are listed one by one because every other way (a spread, a loop, a sort) takes longer than the
 * rest of a record, its hash included.
 */
export function canonicalRecord(
  record: AuditRecord | AuditNote,
  place: Pick<ChainedRecord, "chain" | "seq" | "prev_hash" | "key_id">,
): string {
  const given = record as Partial<AuditRecord & Omit<AuditNote, "event" | "outcome">>;
  return JSON.stringify({
    actor_id: given.actor_id,
    chain: place.chain,
    count: given.count,
    duration_ms: given.duration_ms,
    event: given.event,
    generation: given.generation,
    key_id: place.key_id,
    outcome: given.outcome,
    params_hash: given.params_hash,
    parent_id: given.parent_id,
    prev_hash: place.prev_hash,
    request_id: given.request_id,
    seq: place.seq,
    stage: given.stage,
    timestamp: given.timestamp,
    tool_id: given.tool_id,
    via: given.via,
  });
}
