import type { AuditNote, AuditRecord } from "../../core/services/audit.ts";
import { createAnchoring } from "./anchoring.ts";
import { type Chain, createChain } from "./chain.ts";
import { createLogFile, type LogState } from "./log-file.ts";
import type { Seal } from "./seal.ts";

/** Writes the records of one file. */
export type Writer = ReturnType<typeof createWriter>;

/** Records that are written together and share one promise: one for each costs as much as the record. */
interface Batch {
  readonly records: (AuditRecord | (() => AuditRecord))[];
  readonly written: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (reason: unknown) => void;
}

/** Lines that were written. Kept as bytes, because strings filled the heap. */
interface Lines {
  readonly bytes: Buffer;
  readonly count: number;
}

/** Records of one write. */
const MAX_BATCH = 4_096;
/** Delayed records that cause a write: larger writes are no cheaper, and calls would wait for them. */
const ENOUGH = 128;
/** Lines that are at least written again after the file was emptied: its copy may not have them. */
const RECENT = 256;

/**
 * Creates the writer of a file. All waiting records are written together and synced once. With a seal, they are hashed
 * under its key, their end is anchored, and a closing record is the last.
 */
export function createWriter(path: string, seals: ReadonlySet<Seal> = new Set()) {
  const anchoring = createAnchoring(path, seals);
  const file = createLogFile(path);
  let queue: Batch[] = [];
  let writing: Promise<void> | undefined;
  /** Whether waiting records are written right after the current write. */
  let isUrgent = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  /** Shortest delay of the waiting records. A later record with the same delay needs no timer of its own. */
  let delayMs = Number.POSITIVE_INFINITY;
  let chain: Chain | undefined;
  let recent: readonly Lines[] = [];
  /** Bytes and records for the notes in the next write. */
  let cut = 0;
  let lost = 0;

  return {
    /** Resolves once the record is on the disk. */
    write(record: AuditRecord): Promise<void> {
      const { written } = enqueue(record);
      writeNow();
      return written;
    },
    /** Writes a record that may be delayed by so many milliseconds and is made when it is written. */
    writeSoon(make: () => AuditRecord, withinMs: number): Promise<void> {
      const { written, records } = enqueue(make);
      if (records.length >= ENOUGH) writeNow();
      else if (withinMs < delayMs) {
        delayMs = withinMs;
        if (!writing) startTimer();
      }
      return written;
    },
    flush,
    /** Resolves once all records are on the disk and anchored. */
    async anchor(): Promise<void> {
      await flush();
      await anchoring.finish();
    },
    async close(): Promise<void> {
      await flush();
      if (seals.size > 0) await writeClosing().catch(() => {});
      await anchoring.finish();
      await file.close();
    },
  };

  function enqueue(record: AuditRecord | (() => AuditRecord)): Batch {
    const last = queue.at(-1);
    const batch = last && last.records.length < MAX_BATCH ? last : newBatch();
    if (batch !== last) queue.push(batch);
    batch.records.push(record);
    return batch;
  }

  async function flush(): Promise<void> {
    writeNow();
    await writing;
  }

  function startTimer(): void {
    clearTimeout(timer);
    timer = setTimeout(writeNow, delayMs);
  }

  function writeNow(): void {
    clearTimeout(timer);
    if (queue.length === 0) return;
    isUrgent = true;
    writing ??= drain();
  }

  async function drain(): Promise<void> {
    while (isUrgent && queue.length > 0) {
      let taken: Batch[] = [];
      try {
        const found = await file.prepare();
        // Only now, so that records that came meanwhile share this sync.
        taken = queue.splice(0, 1);
        if (queue.length === 0) resetDelay();
        for (const { records } of taken) await commit(found, records.flatMap(make));
        for (const { resolve } of taken) resolve();
      } catch (error) {
        if (taken.length === 0) {
          [taken, queue] = [queue, []];
          resetDelay();
        }
        for (const { records, reject } of taken) {
          lost += records.length;
          reject(error);
        }
      }
    }
    writing = undefined;
    if (queue.length > 0) startTimer();
  }

  /** Writes the closing record: what ends with it was not cut. */
  async function writeClosing(): Promise<void> {
    if (!chain) return;
    await commit(await file.prepare(), [note("closed", chain.end.seq)]);
  }

  /** Makes a record. A record that fails is counted as lost and does not affect the others. */
  function make(record: AuditRecord | (() => AuditRecord)): readonly AuditRecord[] {
    try {
      return [typeof record === "function" ? record() : record];
    } catch {
      lost++;
      return [];
    }
  }

  function resetDelay(): void {
    isUrgent = false;
    delayMs = Number.POSITIVE_INFINITY;
  }

  async function commit(found: LogState, batch: readonly (AuditRecord | AuditNote)[]): Promise<void> {
    cut += found.cut ?? 0;
    chain ??= createChain(found.last, [...seals][0]?.signer());
    const { end, link } = chain;
    const notes = [note("tail_cut", cut), note("records_lost", lost)].filter(({ count }) => count > 0);
    const records = [...notes, ...batch];
    const bytes = Buffer.from(records.map((record) => `${link(record)}\n`).join(""));
    try {
      if (!found.shrunk || !(await appendAgain(recent, bytes))) await file.append(bytes);
    } catch (error) {
      chain.goBack(end);
      throw error;
    }
    cut = lost = 0;
    anchoring.move({ ...chain.end, chain: chain.id });
    recent = keepRecent([...recent, { bytes, count: records.length }]);
  }

  /** Appends the recent lines again before the new ones; false if there is no room for both. */
  async function appendAgain(before: readonly Lines[], bytes: Buffer): Promise<boolean> {
    try {
      await file.append(Buffer.concat([...before.map((lines) => lines.bytes), bytes]));
      return true;
    } catch {
      await file.prepare();
      return false;
    }
  }
}

/** Keeps the last writes that together have at least {@link RECENT} lines. */
function keepRecent(all: readonly Lines[]): readonly Lines[] {
  let count = 0;
  const first = all.findLastIndex((lines) => {
    count += lines.count;
    return count >= RECENT;
  });
  return all.slice(Math.max(0, first));
}

function newBatch(): Batch {
  let [resolve, reject]: [Batch["resolve"], Batch["reject"]] = [() => {}, () => {}];
  const written = new Promise<void>((resolved, rejected) => {
    [resolve, reject] = [resolved, rejected];
  });
  return { records: [], written, resolve, reject };
}

function note(outcome: AuditNote["outcome"], count: number): AuditNote {
  return { event: "note", timestamp: new Date().toISOString(), outcome, count };
}
