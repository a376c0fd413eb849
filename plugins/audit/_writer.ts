import { createLogFile, type Found } from "./_log-file.ts";
import { type Chain, createChain } from "./chain.ts";
import type { AuditNote, AuditRecord } from "./sink.ts";

/** Writes the records of one file. */
export interface Writer {
  /** Resolves once the record is on the disk. One that may wait so long is written with others. */
  write(record: AuditRecord, withinMs: number): Promise<void>;
  /** Writes now what may wait, and resolves once nothing does. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

/** Records that are written together, and share what tells that they are: a promise for each costs as much as itself. */
interface Batch {
  readonly records: AuditRecord[];
  readonly written: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (reason: unknown) => void;
}

/** So many records are written in one piece. */
const MAX_BATCH = 4_096;
/** So many lines are written again after a file was emptied: its copy may not have them. */
const RECENT = 256;

/** Makes the writer of a file: whatever waits is written in one piece, and then synced once for all. */
export function createWriter(path: string): Writer {
  const file = createLogFile(path);
  let queue: Batch[] = [];
  let writing: Promise<void> | undefined;
  /** Whether what waits is written as soon as what is being written is done. */
  let isUrgent = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  /** When what waits has to be written. */
  let due = Number.POSITIVE_INFINITY;
  let chain: Chain | undefined;
  let recent: string[] = [];
  /** What has to be told with the next lines that can be written. */
  let cut = 0;
  let lost = 0;

  return {
    write(record, withinMs) {
      const batch = roomFor();
      batch.records.push(record);
      if (withinMs > 0) wait(performance.now() + withinMs);
      else hurry();
      return batch.written;
    },
    flush,
    async close() {
      await flush();
      await file.close();
    },
  };

  function roomFor(): Batch {
    const last = queue.at(-1);
    if (last && last.records.length < MAX_BATCH) return last;
    const batch = newBatch();
    queue.push(batch);
    return batch;
  }

  async function flush(): Promise<void> {
    hurry();
    await writing;
  }

  function wait(until: number): void {
    if (until >= due) return;
    due = until;
    if (!writing) arm();
  }

  function arm(): void {
    clearTimeout(timer);
    timer = setTimeout(hurry, Math.max(0, due - performance.now()));
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
        for (const { records } of taken) await commit(found, records);
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

  /** Nothing waits now; what comes says itself how long it may. */
  function begin(): void {
    isUrgent = false;
    due = Number.POSITIVE_INFINITY;
  }

  async function commit(found: Found, batch: readonly AuditRecord[]): Promise<void> {
    cut += found.cut ?? 0;
    chain ??= createChain(found.last);
    const { end, link } = chain;
    const notes = [note("tail_cut", cut), note("records_lost", lost)].filter(({ count }) => count > 0);
    const lines = [...notes, ...batch].map((record) => `${link(record)}\n`);
    try {
      if (!found.shrunk || !(await isAddedTo(recent, lines))) await file.append(lines.join(""));
    } catch (error) {
      chain.goBack(end);
      throw error;
    }
    cut = lost = 0;
    recent = [...recent.slice(lines.length - RECENT), ...lines].slice(-RECENT);
  }

  /** What was written before goes before, if there is room for both. */
  async function isAddedTo(before: readonly string[], lines: readonly string[]): Promise<boolean> {
    try {
      await file.append([...before, ...lines].join(""));
      return true;
    } catch {
      await file.prepare();
      return false;
    }
  }
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
