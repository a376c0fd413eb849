import { GatewayError, type MaybePromise } from "../../core/mod.ts";
import type { AuditRecord, AuditSink } from "./sink.ts";

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
  write(record: AuditRecord, withinMs: number): Writing;
}

/** So many records may be on their way before calls wait for them. None is dropped. */
const MAX_WAITING = 1_000;

const safe = Promise.resolve(true);

/** Makes a recorder. Of records that cannot be written, `tell` hears once, until one can be written again. */
export function createRecorder(sink: AuditSink, tell: (error: GatewayError) => void): Recorder {
  let waiting = 0;
  let isFailing = false;
  return {
    write(record, withinMs) {
      let writing: MaybePromise<void>;
      try {
        writing = sink.write(record, { withinMs });
      } catch (thrown) {
        fail(thrown);
        return { safe: Promise.resolve(false), room: undefined };
      }
      if (!(writing instanceof Promise)) {
        isFailing = false;
        return { safe, room: undefined };
      }
      waiting++;
      const settled = writing.then(
        () => {
          waiting--;
          isFailing = false;
          return true;
        },
        (thrown) => {
          waiting--;
          fail(thrown);
          return false;
        },
      );
      return { safe: settled, room: waiting > MAX_WAITING ? settled.then(() => {}) : undefined };
    },
  };

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
