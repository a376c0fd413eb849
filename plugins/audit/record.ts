import type { Call, SettledCall } from "../../core/mod.ts";
import type { AuditEvent, AuditRecord } from "../../core/services/audit.ts";

/** The arguments of a call as canonical JSON, since they may change before the record is made. */
export interface Params {
  readonly json: string;
  /** Their hash, once a record has been made. */
  hash?: string;
}

/**
 * Fields of a record that is made later, together with others, so that no call waits for hashing. It does not hold the
 * call itself, whose result may be large.
 */
interface Draft extends Pick<AuditRecord, "event" | "outcome" | "stage"> {
  readonly id: string;
  readonly parentId: string | undefined;
  readonly toolId: string;
  readonly actorId: string;
  readonly startedAt: number;
  readonly durationMs: number;
  readonly via: string | undefined;
  readonly params: Params;
}

/** Longest id in a record: callers choose the ids, and records stay small. */
const MAX_ID = 256;

/** Creates the draft of the record before an execution. */
export function draftIntent({ id, parent, toolId, actor, startedAt }: Call, params: Params): Draft {
  return {
    event: "intent",
    id,
    parentId: parent?.id,
    toolId,
    actorId: actor.id,
    startedAt,
    params,
    outcome: "pending",
    stage: "execute",
    via: undefined,
    durationMs: 0,
  };
}

/** Creates the draft of the record of a finished call. */
export function draftOutcome(call: SettledCall, event: AuditEvent, params: Params): Draft {
  return {
    event,
    id: call.id,
    parentId: call.parentId,
    toolId: call.toolId,
    actorId: call.actor.id,
    startedAt: call.startedAt,
    params,
    outcome: call.ok ? (call.result.isError ? "tool_error" : "ok") : call.error.code,
    stage: call.stage,
    via: call.via,
    durationMs: call.durationMs,
  };
}

/** Makes the record of a draft. */
export function toRecord(draft: Draft, hashParams: (params: Params) => string): AuditRecord {
  const record: { -readonly [Key in keyof AuditRecord]: AuditRecord[Key] } = {
    event: draft.event,
    request_id: draft.id,
    tool_id: shortenId(draft.toolId),
    actor_id: shortenId(draft.actorId),
    timestamp: formatTime(draft.startedAt),
    params_hash: hashParams(draft.params),
    outcome: draft.outcome,
    stage: draft.stage,
    duration_ms: Math.round(draft.durationMs * 1000) / 1000,
  };
  // Without a spread, which takes as long as the rest of this function.
  if (draft.parentId) record.parent_id = draft.parentId;
  if (draft.via) record.via = draft.via;
  return record;
}

let last = { ms: 0, iso: new Date(0).toISOString() };

/** Formats a time. Both records of a call have the same one, and formatting takes as long as the rest of a record. */
function formatTime(ms: number): string {
  if (last.ms !== ms) last = { ms, iso: new Date(ms).toISOString() };
  return last.iso;
}

function shortenId(id: string): string {
  return id.length <= MAX_ID ? id : `${id.slice(0, MAX_ID)}…`;
}
