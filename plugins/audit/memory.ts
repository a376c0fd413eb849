import type { AuditRecord, AuditSink, ChainedRecord } from "../../core/services/audit.ts";
import { createChain } from "./chain.ts";

/** A sink whose records can be read back. */
export interface MemorySink extends AuditSink {
  /** The records kept, oldest first. */
  readonly records: readonly (AuditRecord & ChainedRecord)[];
}

/** Keeps the last records in memory. */
export function memorySink(limit = 1_000): MemorySink {
  const records: (AuditRecord & ChainedRecord)[] = [];
  const chain = createChain();
  let closed = false;
  return {
    records,
    write(record) {
      if (closed) return;
      records.push(JSON.parse(chain.link(record)) as AuditRecord & ChainedRecord);
      if (records.length > limit) records.shift();
    },
    close() {
      closed = true;
    },
  };
}
