import type { Call, SettledCall } from "../../core/mod.ts";
import type { AuditEvent, AuditRecord } from "./sink.ts";

/** A caller may write anything there, and a record stays small. */
const MAX_ID = 256;

/** What is written before a call is executed. */
export function intentOf(call: Call, paramsHash: string): AuditRecord {
  return {
    event: "intent",
    request_id: call.id,
    ...(call.parent && { parent_id: call.parent.id }),
    tool_id: short(call.toolId),
    actor_id: short(call.actor.id),
    timestamp: timeOf(call.startedAt),
    params_hash: paramsHash,
    outcome: "pending",
    stage: "execute",
    duration_ms: 0,
  };
}

/** What is written once a call is over. */
export function outcomeOf(call: SettledCall, event: AuditEvent, paramsHash: string): AuditRecord {
  return {
    event,
    request_id: call.id,
    ...(call.parentId && { parent_id: call.parentId }),
    tool_id: short(call.toolId),
    actor_id: short(call.actor.id),
    timestamp: timeOf(call.startedAt),
    params_hash: paramsHash,
    outcome: call.ok ? (call.result.isError ? "tool_error" : "ok") : call.error.code,
    stage: call.stage,
    ...(call.via && { via: call.via }),
    duration_ms: Math.round(call.durationMs * 1000) / 1000,
  };
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
