import { type Call, GatewayError, type MaybePromise, type SettledCall } from "../../core/mod.ts";
import type { AuditEvent, AuditRecord, AuditSink } from "../../core/services/audit.ts";

/** State of a record that was handed to the sink. */
interface Writing {
  /** Resolves to whether the record was written. */
  readonly safe: Promise<boolean>;
  /** Delays a call while too many records wait. */
  readonly room: MaybePromise<void>;
}

/** Records of one write. */
interface Pending {
  readonly writing: Promise<void>;
  readonly settled: Promise<boolean>;
  count: number;
}

/** Pending records above which calls wait. None is dropped. */
const MAX_WAITING = 1_000;

const safe = Promise.resolve(true);

/** Creates a recorder. A failure is reported once, until a record is written again. */
export function createRecorder(sink: AuditSink, report: (error: GatewayError) => void) {
  let waiting = 0;
  let isFailing = false;
  /** Records of the last write; records that are written together have one promise. */
  let latest: Pending | undefined;
  return {
    /** Writes a record, delayed by at most so many milliseconds to be written with others. */
    write(make: () => AuditRecord, withinMs: number): Writing {
      let writing: MaybePromise<void>;
      try {
        writing = passToSink(make, withinMs);
      } catch (thrown) {
        fail(thrown);
        return { safe: Promise.resolve(false), room: undefined };
      }
      if (!(writing instanceof Promise)) {
        isFailing = false;
        return { safe, room: undefined };
      }
      waiting++;
      if (latest?.writing === writing) latest.count++;
      else latest = createPending(writing);
      const { settled } = latest;
      return { safe: settled, room: waiting > MAX_WAITING ? settled.then(() => {}) : undefined };
    },
    /** Writes all pending records and closes the sink. */
    async close(): Promise<void> {
      // A sink that collects records writes them when it is closed.
      if (!sink.writeSoon) while (waiting > 0) await latest?.settled;
      await sink.close();
    },
  };

  /** A sink that collects records keeps their order itself; another one gets each record after the one before. */
  function passToSink(make: () => AuditRecord, withinMs: number): MaybePromise<void> {
    if (sink.writeSoon) return withinMs > 0 ? sink.writeSoon(make, withinMs) : sink.write(make());
    const record = make();
    return waiting > 0 && latest ? latest.settled.then(() => sink.write(record)) : sink.write(record);
  }

  function createPending(writing: Promise<void>): Pending {
    const pending: Pending = {
      writing,
      count: 1,
      settled: writing.then(
        () => {
          waiting -= pending.count;
          isFailing = false;
          return true;
        },
        (thrown) => {
          waiting -= pending.count;
          fail(thrown);
          return false;
        },
      ),
    };
    return pending;
  }

  function fail(cause: unknown): void {
    if (isFailing) return;
    isFailing = true;
    const { code } = (cause ?? {}) as { code?: unknown };
    const why = typeof code === "string" ? ` (${code})` : "";
    report(
      new GatewayError("INTERNAL", `Calls are not being recorded: the audit cannot be written${why}.`, {
        cause,
        data: { plugin: "audit", hook: "audit" },
      }),
    );
  }
}

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
  readonly generation?: string | undefined;
}

/** Longest id in a record: callers choose the ids, and records stay small. */
const MAX_ID = 256;

/** Creates the draft of the record before an execution. */
export function draftIntent(
  { id, parent, toolId, actor, startedAt }: Call,
  params: Params,
  generation?: string,
): Draft {
  return {
    generation,
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
  if (draft.generation) record.generation = draft.generation;
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
