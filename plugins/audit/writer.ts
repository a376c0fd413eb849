import type { AuditNote, AuditRecord } from "../../core/services/audit.ts";
import { type Chain, createChain } from "./chain.ts";
import { createLogFile, type Found } from "./log-file.ts";

/** Writes the records of one file. */
export interface Writer {
  /** Resolves once the record is on the disk. */
  write(record: AuditRecord): Promise<void>;
  /** The same for one that may wait so long, and is made when it is written. */
  writeSoon(make: () => AuditRecord, withinMs: number): Promise<void>;
  /** Writes now what may wait, and resolves once nothing does. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

/** Records that are written together, and share what tells that they are: a promise for each costs as much as itself. */
interface Batch {
  readonly records: (AuditRecord | (() => AuditRecord))[];
  readonly written: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (reason: unknown) => void;
}

/** Lines that were written. As bytes: as texts, which live for a moment and no longer, they filled the heap. */
interface Lines {
  readonly bytes: Buffer;
  readonly count: number;
}

/** So many records are written in one piece. */
const MAX_BATCH = 4_096;
/** So many are written at once, whether they have time or not: more at a time are no cheaper, and calls would wait. */
const ENOUGH = 128;
/** So many lines at least are written again after a file was emptied: its copy may not have them. */
const RECENT = 256;

/** Makes the writer of a file: whatever waits is written in one piece, and then synced once for all. */
export function createWriter(path: string): Writer {
  const file = createLogFile(path);
  let queue: Batch[] = [];
  let writing: Promise<void> | undefined;
  /** Whether what waits is written as soon as what is being written is done. */
  let isUrgent = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  /** How long what waits may do so at most. What comes later and may wait as long needs no clock of its own. */
  let patience = Number.POSITIVE_INFINITY;
  let chain: Chain | undefined;
  let recent: readonly Lines[] = [];
  /** What has to be told with the next lines that can be written. */
  let cut = 0;
  let lost = 0;

  return {
    write(record) {
      const { written } = take(record);
      hurry();
      return written;
    },
    writeSoon(make, withinMs) {
      const { written, records } = take(make);
      if (records.length >= ENOUGH) hurry();
      else if (withinMs < patience) {
        patience = withinMs;
        if (!writing) arm();
      }
      return written;
    },
    flush,
    async close() {
      await flush();
      await file.close();
    },
  };

  function take(record: AuditRecord | (() => AuditRecord)): Batch {
    const last = queue.at(-1);
    const batch = last && last.records.length < MAX_BATCH ? last : newBatch();
    if (batch !== last) queue.push(batch);
    batch.records.push(record);
    return batch;
  }

  async function flush(): Promise<void> {
    hurry();
    await writing;
  }

  function arm(): void {
    clearTimeout(timer);
    timer = setTimeout(hurry, patience);
  }

  function hurry(): void {
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
        // Only now, so that what came meanwhile need not wait for the next sync.
        taken = queue.splice(0, 1);
        if (queue.length === 0) begin();
        for (const { records } of taken) await commit(found, records.flatMap(made));
        for (const { resolve } of taken) resolve();
      } catch (error) {
        if (taken.length === 0) {
          [taken, queue] = [queue, []];
          begin();
        }
        for (const { records, reject } of taken) {
          lost += records.length;
          reject(error);
        }
      }
    }
    writing = undefined;
    // What came meanwhile and may wait does so.
    if (queue.length > 0) arm();
  }

  /** One that cannot be made costs no other one. */
  function made(record: AuditRecord | (() => AuditRecord)): readonly AuditRecord[] {
    try {
      return [typeof record === "function" ? record() : record];
    } catch {
      lost++;
      return [];
    }
  }

  /** Nothing waits now; what comes says itself how long it may. */
  function begin(): void {
    isUrgent = false;
    patience = Number.POSITIVE_INFINITY;
  }

  async function commit(found: Found, batch: readonly AuditRecord[]): Promise<void> {
    cut += found.cut ?? 0;
    chain ??= createChain(found.last);
    const { end, link } = chain;
    const notes = [note("tail_cut", cut), note("records_lost", lost)].filter(({ count }) => count > 0);
    const records = [...notes, ...batch];
    const bytes = Buffer.from(records.map((record) => `${link(record)}\n`).join(""));
    try {
      if (!found.shrunk || !(await isAddedTo(recent, bytes))) await file.append(bytes);
    } catch (error) {
      chain.goBack(end);
      throw error;
    }
    cut = lost = 0;
    recent = latest([...recent, { bytes, count: records.length }]);
  }

  /** What was written before goes before, if there is room for both. */
  async function isAddedTo(before: readonly Lines[], bytes: Buffer): Promise<boolean> {
    try {
      await file.append(Buffer.concat([...before.map((lines) => lines.bytes), bytes]));
      return true;
    } catch {
      await file.prepare();
      return false;
    }
  }
}

/** The last of them, as few as make up for enough lines. */
function latest(all: readonly Lines[]): readonly Lines[] {
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
