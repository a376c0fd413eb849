import type { AuditNote, AuditRecord, ChainedRecord } from "./sink.ts";

/**
 * The canonical JSON of a record in its place: with its fields in the right order, `JSON.stringify` writes just that.
 * They are written out one by one because every other way (a spread, a loop, a sort) takes longer than all the rest of
 * a record, its hash included.
 */
export function canonicalRecord(
  record: AuditRecord | AuditNote,
  place: Pick<ChainedRecord, "chain" | "seq" | "prev_hash">,
): string {
  const given = record as Partial<AuditRecord & Omit<AuditNote, "event" | "outcome">>;
  return JSON.stringify({
    actor_id: given.actor_id,
    chain: place.chain,
    count: given.count,
    duration_ms: given.duration_ms,
    event: given.event,
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
