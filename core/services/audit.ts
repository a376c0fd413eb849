import type { Stage } from "../call.ts";
import type { MaybePromise } from "../hooks.ts";
import type { JsonObject } from "../tool.ts";

/** Event of a record: a call that is about to be executed, one that is over, or one that was not executed. */
export type AuditEvent = "intent" | "outcome" | "denial";

/** Record of a call. */
export interface AuditRecord {
  readonly event: AuditEvent;
  readonly request_id: string;
  /** The call this one was made for. */
  readonly parent_id?: string;
  readonly tool_id: string;
  readonly actor_id: string;
  /** When the call began. */
  readonly timestamp: string;
  /** HMAC of the arguments by a key of this installation: equal arguments are equal, and cannot be guessed. */
  readonly params_hash: string;
  /**
   * `pending` before the execution; then `ok`, `tool_error` if the tool reported a failure, or the code of the error.
   */
  readonly outcome: string;
  /** The stage that the call is in, or that ended it. */
  readonly stage: Stage;
  /** The plugin that answered in place of the tool. */
  readonly via?: string;
  readonly duration_ms: number;
  /** In an intent: what the shared state held then, by name. After a loss, it tells the calls of before. */
  readonly generation?: string;
}

/** Note about the records themselves. */
export interface AuditNote {
  readonly event: "note";
  readonly timestamp: string;
  /**
   * `tail_cut` if an unfinished record was removed; `records_lost` if some could not be written; `closed` at the end of a
   * chain, after which there are no more.
   */
  readonly outcome: "tail_cut" | "records_lost" | "closed";
  /** Number of bytes, or of records; after `closed`, of all records of the chain before. */
  readonly count: number;
}

/** Record in a hash chain, which a changed, removed or moved record breaks. */
export type ChainedRecord = (AuditRecord | AuditNote) & {
  /** Records of one writer have one chain; several may be in a file. */
  readonly chain: string;
  /** Counts the records of a chain, from 1. */
  readonly seq: number;
  /** The hash of the record before; for the first one that of the last record there was, or zeros. */
  readonly prev_hash: string;
  /** Names the key of the hash. Records without one have a hash that needs no key. */
  readonly key_id?: string | undefined;
  /** The HMAC-SHA-256 under that key, or else the SHA-256, of the canonical JSON (RFC 8785) of all the rest. */
  readonly hash: string;
};

/** Destination of audit records. */
export interface AuditSink {
  /**
   * Writes a record; resolves once it is as safe as this sink makes it. A sink without `writeSoon` gets the next record
   * after that; one with it may get several at once, and keeps their order.
   */
  write(record: AuditRecord): MaybePromise<void>;
  /**
   * Writes a record within `withinMs`, together with others. It is created only then: creating many at once takes a
   * fraction of the time, and none of a call's. Without this method, `write` gets all records.
   */
  writeSoon?(make: () => AuditRecord, withinMs: number): MaybePromise<void>;
  /** Resolves once every record is safe; no more are accepted. */
  close(): MaybePromise<void>;
}

/** Opens an audit sink. */
export type AuditSinkDriver = (options: Readonly<JsonObject>) => MaybePromise<AuditSink>;
