import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { readKeyFile } from "../../plugins/audit/key.ts";
import { verifyAudit } from "../../plugins/audit/mod.ts";

/** Findings after processes were killed. */
export interface Findings {
  /** Calls whose outcome was reported. */
  readonly answered: number;
  readonly effects: number;
  /** Calls that were reported as unknown. */
  readonly unknown: number;
  /** Effects that happened again under the same key. */
  readonly duplicates: number;
  /** Calls that were said to be done, and were not. */
  readonly lostEffects: number;
  /** Records of calls that were said to be done, and are not there. */
  readonly lostRecords: number;
  /** Files of the audit that are not as they were written. */
  readonly brokenFiles: number;
  /** Answers that no caller should get. */
  readonly oddAnswers: readonly string[];
}

const DONE: readonly unknown[] = ["done", "replay"];
const UNKNOWN: readonly unknown[] = ["IN_PROGRESS", "OUTCOME_UNKNOWN"];
const REFUSED: readonly unknown[] = ["STATE_UNAVAILABLE"];

/** Compares what processes said with what they left in a folder. */
export async function inspect(folder: string, said: readonly string[]): Promise<Findings> {
  const effects = new Map<string, number>();
  for (const key of readLines(await readFile(join(folder, "ledger"), "utf8"))) {
    effects.set(key, (effects.get(key) ?? 0) + 1);
  }
  const { events, brokenFiles } = await readAudit(join(folder, "audit"));
  // The last line of a process may have been cut off.
  const answers = said.map((line) => line.split(" ")).filter(([, , id]) => id?.length === 36);
  const done = answers.filter(([, how]) => DONE.includes(how));
  return {
    answered: answers.length,
    effects: effects.size,
    unknown: answers.filter(([, how]) => UNKNOWN.includes(how)).length,
    duplicates: [...effects.values()].reduce((sum, count) => sum + count - 1, 0),
    lostEffects: done.filter(([key = ""]) => !effects.has(key)).length,
    lostRecords: done.filter(([, how, id = ""]) => !isRecorded(events.get(id), how === "done")).length,
    brokenFiles,
    oddAnswers: [...new Set(answers.map(([, how = ""]) => how))].filter(
      (how) => ![...DONE, ...UNKNOWN, ...REFUSED].includes(how),
    ),
  };
}

/** Executed calls are recorded before and after; calls answered without execution, after. */
function isRecorded(events: readonly string[] = [], isExecuted: boolean): boolean {
  return isExecuted ? events.join() === "intent,outcome" : events.length > 0;
}

async function readAudit(folder: string): Promise<{ events: Map<string, string[]>; brokenFiles: number }> {
  const events = new Map<string, string[]>();
  if (!existsSync(folder)) return { events, brokenFiles: 0 };
  const names = await readdir(folder, { recursive: true });
  const files = names.filter((name) => name.endsWith(".jsonl")).map((name) => join(folder, name));
  for (const file of files) {
    for (const line of readLines(await readFile(file, "utf8"))) {
      const record = parsed(line);
      if (record) events.set(record.request_id, [...(events.get(record.request_id) ?? []), record.event]);
    }
  }
  const brokenFiles = (
    await verifyAudit(files, [], { key: readKeyFile(join(folder, "..", "home", "state", "audit.key")) })
  ).filter(({ fault }) => fault).length;
  return { events, brokenFiles };
}

function parsed(line: string): { readonly event: string; readonly request_id: string } | undefined {
  try {
    return JSON.parse(line);
  } catch {
    // It was never finished, and no caller was told that it was.
    return undefined;
  }
}

function readLines(text: string): string[] {
  return text.split("\n").filter(Boolean);
}
