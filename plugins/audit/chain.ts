import { randomBytes } from "node:crypto";
import { canonicalJson, sha256 } from "../guard/canonical.ts";
import { canonicalRecord } from "./_canonical-record.ts";
import type { AuditNote, AuditRecord } from "./sink.ts";

/** What the first record of all has before it. */
export const NOTHING_BEFORE: string = "0".repeat(64);

/** Puts records one behind the other. */
export interface Chain {
  /** Gives a record its place, and returns it as JSON. Fields that no record has are left out. */
  link(record: AuditRecord | AuditNote): string;
  /** Where it is; to go back there, if what was linked since could not be written. */
  readonly end: ChainEnd;
  goBack(to: ChainEnd): void;
}

/** The last record of a chain. */
export interface ChainEnd {
  readonly seq: number;
  readonly hash: string;
}

/** Begins a chain behind the record of this hash. */
export function createChain(after: string = NOTHING_BEFORE): Chain {
  const chain = randomBytes(8).toString("hex");
  let end: ChainEnd = { seq: 0, hash: after };
  return {
    link(record) {
      const seq = end.seq + 1;
      const canonical = canonicalRecord(record, { chain, seq, prev_hash: end.hash });
      const hash = sha256(canonical);
      end = { seq, hash };
      // What was hashed is written as it is: turning it into text once more would double the cost.
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

/** The hash that a record must have. */
export function hashOf(record: object): string {
  const { hash: _, ...rest } = record as { hash?: unknown };
  return sha256(canonicalJson(rest));
}
