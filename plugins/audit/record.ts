import type { Call, SettledCall } from "../../core/mod.ts";
import type { AuditEvent, AuditRecord } from "../../core/services/audit.ts";

/** The arguments of a call, as canonical JSON: they may be others when a record is made. */
export interface Params {
  readonly text: string;
  /** Their code, once there is a record. */
  code?: string;
}

/**
 * What a record is made of. It is made later, with many others: what takes its time is then done in one go, and no call
 * waits for it. Of a call it holds no more than it needs, since results may be large.
 */
export interface Draft extends Pick<AuditRecord, "event" | "outcome" | "stage"> {
  readonly id: string;
  readonly parentId: string | undefined;
  readonly toolId: string;
  readonly actorId: string;
  readonly startedAt: number;
  readonly durationMs: number;
  readonly via: string | undefined;
  readonly params: Params;
}

/** A caller may write anything there, and a record stays small. */
const MAX_ID = 256;

/** What is written before a call is executed. */
export function intentOf({ id, parent, toolId, actor, startedAt }: Call, params: Params): Draft {
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

/** What is written once a call is over. */
export function outcomeOf(call: SettledCall, event: AuditEvent, params: Params): Draft {
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

/** The record of a draft. */
export function recordOf(draft: Draft, codeOf: (params: Params) => string): AuditRecord {
  const record: { -readonly [Key in keyof AuditRecord]: AuditRecord[Key] } = {
    event: draft.event,
    request_id: draft.id,
    tool_id: short(draft.toolId),
    actor_id: short(draft.actorId),
    timestamp: timeOf(draft.startedAt),
    params_hash: codeOf(draft.params),
    outcome: draft.outcome,
    stage: draft.stage,
    duration_ms: Math.round(draft.durationMs * 1000) / 1000,
  };
  // Not by a spread, which takes as long as all the rest.
  if (draft.parentId) record.parent_id = draft.parentId;
  if (draft.via) record.via = draft.via;
  return record;
}

let last = { ms: 0, text: new Date(0).toISOString() };

/** Both records of a call have the same time, and writing it out takes as long as all the rest of one. */
function timeOf(ms: number): string {
  if (last.ms !== ms) last = { ms, text: new Date(ms).toISOString() };
  return last.text;
}

function short(id: string): string {
  return id.length <= MAX_ID ? id : `${id.slice(0, MAX_ID)}…`;
}
