import { randomUUID } from "node:crypto";
import { rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { ifThere, namesIn, textIfThere, unlinkIfThere } from "../lib/files.ts";
import { MAX_SIZE } from "../lib/memory-store.ts";
import { readRecord } from "./record.ts";

/** What is swept. */
export interface Litter {
  readonly values: string;
  readonly drafts: string;
  /** Versions that need not be looked at. */
  readonly inUse: ReadonlySet<string>;
  /** The version that a key has now. */
  versionOf(key: string): Promise<string | undefined>;
}

/** A process that takes this long for one step is gone; if it is not, its step fails and changes nothing. */
const DRAFT_MS = 3_600_000;

/** Removes what processes left behind that ended in the middle of a step. Never rejects: it is only tidying. */
export async function sweep(litter: Litter): Promise<void> {
  try {
    await sweepValues(litter);
    await sweepDrafts(litter.drafts);
  } catch {}
}

/**
 * A value is removed only if it can never be in use again, which its record tells: it was to take the place
 * of a version that is gone (and versions do not come back), or of nothing by a draft that is gone.
 */
async function sweepValues({ values, drafts, inUse, versionOf }: Litter): Promise<void> {
  for (const name of await namesIn(values)) {
    const version = name.replace(/\.txt$/, "");
    if (inUse.has(version)) continue;
    const file = join(values, name);
    const record = readRecord((await textIfThere(file, MAX_SIZE * 4)) ?? "");
    if (!record) {
      if (await isOld(file)) await unlinkIfThere(file);
      continue;
    }
    // The draft is asked for first: where it is gone, it has become the key, or never will.
    const isDraft = record.after === undefined && (await ifThere(stat(join(drafts, version)))) !== undefined;
    const present = await versionOf(record.key);
    const isWanted = isDraft || present === version || (present !== undefined && present === record.after);
    if (!isWanted) await unlinkIfThere(file);
  }
}

/** A draft takes effect by being renamed, so the process that finds it gone has changed nothing. */
async function sweepDrafts(drafts: string): Promise<void> {
  for (const name of await namesIn(drafts)) {
    const draft = join(drafts, name);
    if (!(await isOld(draft))) continue;
    // In one step, as half a draft must not take effect either.
    const gone = join(drafts, `${randomUUID()}.old`);
    await ifThere(rename(draft, gone));
    await rm(gone, { recursive: true, force: true });
  }
}

async function isOld(file: string): Promise<boolean> {
  const found = await ifThere(stat(file));
  return found !== undefined && Date.now() - found.mtimeMs > DRAFT_MS;
}
