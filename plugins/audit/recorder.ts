import { GatewayError, type MaybePromise } from "../../core/mod.ts";
import type { AuditRecord, AuditSink } from "../../core/services/audit.ts";

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
