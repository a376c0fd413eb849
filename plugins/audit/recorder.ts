import { GatewayError, type MaybePromise } from "../../core/mod.ts";
import type { AuditRecord, AuditSink } from "../../core/services/audit.ts";

/** A record on its way. */
export interface Writing {
  /** Whether it is safe, once that is known. */
  readonly safe: Promise<boolean>;
  /** What a caller waits for that does not need to know: nothing, or room for more records. */
  readonly room: MaybePromise<void>;
}

/** Hands records to a sink. */
export interface Recorder {
  /** The record may wait so long, so that others are written with it. */
  write(make: () => AuditRecord, withinMs: number): Writing;
  /** Resolves once no record is on its way; then closes the sink. */
  close(): Promise<void>;
}

/** Records that will be safe at the same moment. */
interface Pending {
  readonly writing: Promise<void>;
  readonly settled: Promise<boolean>;
  count: number;
}

/** So many records may be on their way before calls wait for them. None is dropped. */
const MAX_WAITING = 1_000;

const safe = Promise.resolve(true);

/** Makes a recorder. Of records that cannot be written, `tell` hears once, until one can be written again. */
export function createRecorder(sink: AuditSink, tell: (error: GatewayError) => void): Recorder {
  let waiting = 0;
  let isFailing = false;
  /** The records that were handed over last: those that are written together have one promise. */
  let latest: Pending | undefined;
  return {
    write(make, withinMs) {
      let writing: MaybePromise<void>;
      try {
        writing = hand(make, withinMs);
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
      else latest = pendingOf(writing);
      const { settled } = latest;
      return { safe: settled, room: waiting > MAX_WAITING ? settled.then(() => {}) : undefined };
    },
    async close() {
      // A sink that collects records writes them when it is closed; any other one is finished with the last of them.
      if (!sink.writeSoon) while (waiting > 0) await latest?.settled;
      await sink.close();
    },
  };

  /** A sink that collects records keeps their order itself; any other one gets each when the one before is written. */
  function hand(make: () => AuditRecord, withinMs: number): MaybePromise<void> {
    if (sink.writeSoon) return withinMs > 0 ? sink.writeSoon(make, withinMs) : sink.write(make());
    const record = make();
    return waiting > 0 && latest ? latest.settled.then(() => sink.write(record)) : sink.write(record);
  }

  function pendingOf(writing: Promise<void>): Pending {
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
    tell(
      new GatewayError("INTERNAL", `Calls are not being recorded: the audit cannot be written${why}.`, {
        cause,
        data: { plugin: "audit", hook: "audit" },
      }),
    );
  }
}
