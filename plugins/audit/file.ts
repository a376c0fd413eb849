import { resolve } from "node:path";
import { GatewayError } from "../../core/mod.ts";
import type { AuditSink } from "../../core/services/audit.ts";
import { createWriter, type Writer } from "./writer.ts";

interface Shared {
  readonly writer: Writer;
  users: number;
}

/** One writer a file: gateways of one process that record to the same file share it. */
const writers = new Map<string, Shared>();

/**
 * Appends records to a file, one JSON object a line, each with the hash of the one before. A write resolves once its
 * record is on the disk; records that come while it writes are written together.
 */
export function fileSink(file: string): Required<AuditSink> {
  const path = resolve(file);
  let shared: Shared | undefined;
  let closing: Promise<void> | undefined;
  return {
    write: (record) => (closing ? refused() : open().write(record)),
    writeSoon: (make, withinMs) => (closing ? refused() : open().writeSoon(make, withinMs)),
    close() {
      closing ??= finish();
      return closing;
    },
  };

  function open(): Writer {
    shared ??= take(path);
    return shared.writer;
  }

  async function finish(): Promise<void> {
    if (!shared) return;
    await shared.writer.flush();
    await give(path, shared);
  }
}

function refused(): Promise<never> {
  return Promise.reject(new GatewayError("CLOSED", "The audit file is closed and takes no more records."));
}

function take(path: string): Shared {
  const shared = writers.get(path) ?? { writer: createWriter(path), users: 0 };
  shared.users++;
  writers.set(path, shared);
  return shared;
}

async function give(path: string, shared: Shared): Promise<void> {
  shared.users--;
  if (shared.users > 0) return;
  writers.delete(path);
  await shared.writer.close();
}
