import type { MaybePromise, Stage } from "../../core/mod.ts";

/** What a record tells of: a call that is about to be executed, one that is over, or one that never was executed. */
export type AuditEvent = "intent" | "outcome" | "denial";

/** What is kept of a call. */
export interface AuditRecord {
  readonly event: AuditEvent;
  readonly request_id: string;
  /** The call this one was made for. */
  readonly parent_id?: string;
  readonly tool_id: string;
  readonly actor_id: string;
  /** When the call began. */
  readonly timestamp: string;
  /** The arguments as a code by a key of this installation: equal ones are equal, and nobody else can guess them. */
  readonly params_hash: string;
  /**
   * `pending` for what is about to be executed; then `ok`, `tool_error` where the tool itself reported a failure, or
   * the code of the error.
   */
  readonly outcome: string;
  /** The stage that the call is in, or that ended it. */
  readonly stage: Stage;
  /** Who answered in place of the tool. */
  readonly via?: string;
  readonly duration_ms: number;
}

/** What happened to the records themselves. */
export interface AuditNote {
  readonly event: "note";
  readonly timestamp: string;
  /** `tail_cut` where a record was not finished, which was removed; `records_lost` where some could not be written. */
  readonly outcome: "tail_cut" | "records_lost";
  /** So many bytes, or records. */
  readonly count: number;
}

/** A record in its place: whoever changes, removes or moves one breaks the chain. */
export type ChainedRecord = (AuditRecord | AuditNote) & {
  /** Records of one writer have one chain; several may be in a file. */
  readonly chain: string;
  /** Counts the records of a chain, from 1. */
  readonly seq: number;
  /** The hash of the record before; for the first one that of the last record there was, or zeros. */
  readonly prev_hash: string;
  /** The SHA-256 of the canonical JSON (RFC 8785) of all the rest. */
  readonly hash: string;
};

/** Where audit records go. */
export interface AuditSink {
  /** Takes one record; resolves once it is as safe as this sink makes it. Records keep the order in which they come. */
  write(record: AuditRecord): MaybePromise<void>;
  /**
   * Takes one that may wait so long, so that others are written with it, and that is made only then: making many at
   * once takes a fraction of the time, and none of a call's. A sink without it is handed all records at once.
   */
  writeSoon?(make: () => AuditRecord, withinMs: number): MaybePromise<void>;
  /** Resolves once every record taken is safe; no more are taken. */
  close(): MaybePromise<void>;
}
