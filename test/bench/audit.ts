import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type AuditRecord, fileSink } from "../../plugins/audit/mod.ts";

const SECONDS = 3;

function createRecord(id: number): AuditRecord {
  return {
    event: "outcome",
    request_id: `00000000-0000-4000-8000-${String(id).padStart(12, "0")}`,
    tool_id: "paystack:charge-create",
    actor_id: "local",
    timestamp: new Date().toISOString(),
    params_hash: "0".repeat(64),
    outcome: "ok",
    stage: "execute",
    duration_ms: 12.345,
  };
}

/** Records a second, where each is waited for until it is on the disk. */
async function rate(file: string, atOnce: number): Promise<number> {
  const sink = fileSink(file);
  await sink.write(createRecord(0));
  const began = performance.now();
  let count = 0;
  const work = async (): Promise<void> => {
    while (performance.now() - began < SECONDS * 1000) {
      await sink.write(createRecord(count));
      count++;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  const seconds = (performance.now() - began) / 1000;
  await sink.close();
  return count / seconds;
}

/** Audit records a second, each on the disk before it is said to be safe, alone and with others at once. */
export async function audit(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "toolpipe-bench-"));
  try {
    process.stdout.write("| at once | records a second |\n|--------:|-----------------:|\n");
    for (const atOnce of [1, 64, 256]) {
      const perSecond = Math.round(await rate(join(folder, `${atOnce}.jsonl`), atOnce)).toLocaleString("en");
      process.stdout.write(`| ${String(atOnce).padStart(7)} | ${perSecond.padStart(16)} |\n`);
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
