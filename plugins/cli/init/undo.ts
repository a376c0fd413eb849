import { dirname } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { GatewayError, isJsonObject, type JsonObject, parseData } from "../../../core/mod.ts";
import { editJson } from "../../lib/config-file/edit-json.ts";
import { backupOf, forget, hashOf, type Recorded, type Run } from "../../lib/config-file/journal.ts";
import { readState, removeIfEmpty, replaceFile, unlinkIfThere } from "../../lib/files.ts";

/** What became of one file. */
export interface Undone {
  readonly file: string;
  readonly how: "restored" | "removed" | "untouched" | "merged";
}

/**
 * Puts back what a run has changed, all of it or nothing: the files of the clients first and our own config last,
 * so that no server is in neither. A file that somebody has changed since is refused, unless it is forced: then only
 * what the run did is taken back in it, and what else was changed stays.
 */
export async function undoRun(run: Run, force: boolean): Promise<readonly Undone[]> {
  const changes = run.changes.toReversed();
  if (!force) {
    for (const change of changes) if ((await standingOf(change)) === "changed") throw changedSince(change);
  }
  const undone: Undone[] = [];
  for (const change of changes) undone.push({ file: change.file, how: await undo(run, change) });
  await forget(run);
  return undone;
}

async function standingOf({ file, before, after }: Recorded): Promise<"done" | "never" | "changed"> {
  const now = await readState(file);
  const hash = now ? hashOf(now.bytes) : null;
  if (hash === after) return "done";
  // We were ended before it was this file's turn, or somebody has put it back by hand.
  return hash === before ? "never" : "changed";
}

async function undo(run: Run, change: Recorded): Promise<Undone["how"]> {
  const standing = await standingOf(change);
  if (standing === "never") return "untouched";
  if (standing === "changed" && (await takeBack(run, change))) return "merged";
  if (change.before === null) return removeFile(change.file);
  await replaceFile(change.file, { bytes: await backupOf(run, change), mode: change.mode ?? 0o600 });
  return "restored";
}

async function removeFile(file: string): Promise<"removed"> {
  await unlinkIfThere(file);
  await removeIfEmpty(dirname(file));
  return "removed";
}

/** Takes back one change in a file as it is now; false where that cannot be done. */
async function takeBack(run: Run, change: Recorded): Promise<boolean> {
  const { file, edit } = change;
  const now = await readState(file);
  if (!now) return false;
  try {
    const text = Buffer.from(now.bytes).toString("utf8");
    const [map, old] = [await mapIn(text, change), await mapIn(await textBefore(run, change), change)];
    // What we wrote, and nobody has touched since, goes or becomes what it was.
    const ours = Object.keys(edit.put).filter((name) => isDeepStrictEqual(map[name], edit.put[name]));
    const put = Object.fromEntries(
      [...edit.remove.filter((name) => !Object.hasOwn(map, name)), ...ours]
        .filter((name) => Object.hasOwn(old, name))
        .map((name) => [name, old[name]]),
    );
    const remove = ours.filter((name) => !Object.hasOwn(old, name));
    const bytes = Buffer.from(await editJson(text, { key: edit.key, remove, put }));
    await replaceFile(file, { bytes, mode: now.mode });
    return true;
  } catch (thrown) {
    if (GatewayError.is(thrown)) return false;
    throw thrown;
  }
}

async function textBefore(run: Run, change: Recorded): Promise<string> {
  return change.before === null ? "{}" : Buffer.from(await backupOf(run, change)).toString("utf8");
}

async function mapIn(text: string, { edit: { key } }: Recorded): Promise<JsonObject> {
  const data = await parseData(text, "file.json");
  const map = isJsonObject(data) ? data[key] : undefined;
  return isJsonObject(map) ? map : {};
}

function changedSince({ file }: Recorded): GatewayError {
  return new GatewayError(
    "CONFIG_INVALID",
    `${file} was changed after toolpipe had changed it, so nothing is put back. "toolpipe init --undo --force" takes back what toolpipe did and keeps what else was changed.`,
  );
}
