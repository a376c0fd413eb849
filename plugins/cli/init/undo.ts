import { dirname } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { GatewayError, isJsonObject, type JsonObject, parseData } from "../../../core/mod.ts";
import { deleteRun, type Recorded, type Run, readBackup } from "../../lib/config-file/changes.ts";
import { editJson } from "../../lib/config-file/edit-json.ts";
import { readFileState, removeIfEmpty, replaceFile, unlinkIfExists } from "../../lib/files.ts";
import { sha256Hex } from "../../lib/hash.ts";

/** Outcome for one file. */
export interface Undone {
  readonly file: string;
  readonly how: "restored" | "removed" | "untouched" | "merged";
}

/**
 * Undoes a run, all of it or nothing: the files of the clients first and our own config last, so that no server is lost.
 * Refuses files that were changed afterwards. With `force`, only the changes of the run are undone in such a file.
 */
export async function undoRun(run: Run, force: boolean): Promise<readonly Undone[]> {
  const changes = run.changes.toReversed();
  if (!force) {
    for (const change of changes)
      if ((await compareFile(change)) === "changed") throw createChangedError(change);
  }
  const undone: Undone[] = [];
  for (const change of changes) undone.push({ file: change.file, how: await undoChange(run, change) });
  await deleteRun(run);
  return undone;
}

async function compareFile({ file, before, after }: Recorded): Promise<"done" | "never" | "changed"> {
  const now = await readFileState(file);
  const hash = now ? sha256Hex(now.bytes) : null;
  if (hash === after) return "done";
  // The run ended before this file, or the user has restored it.
  return hash === before ? "never" : "changed";
}

async function undoChange(run: Run, change: Recorded): Promise<Undone["how"]> {
  const state = await compareFile(change);
  if (state === "never") return "untouched";
  if (state === "changed" && (await undoEdit(run, change))) return "merged";
  if (change.before === null) return removeFile(change.file);
  await replaceFile(change.file, { bytes: await readBackup(run, change), mode: change.mode ?? 0o600 });
  return "restored";
}

async function removeFile(file: string): Promise<"removed"> {
  await unlinkIfExists(file);
  await removeIfEmpty(dirname(file));
  return "removed";
}

/** Undoes one change in a file with other changes; false if that is not possible. */
async function undoEdit(run: Run, change: Recorded): Promise<boolean> {
  const { file, edit } = change;
  const now = await readFileState(file);
  if (!now) return false;
  try {
    const text = Buffer.from(now.bytes).toString("utf8");
    const [map, old] = [
      await readServers(text, change),
      await readServers(await readBefore(run, change), change),
    ];
    // Entries that we wrote and that are unchanged are removed or restored.
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

async function readBefore(run: Run, change: Recorded): Promise<string> {
  return change.before === null ? "{}" : Buffer.from(await readBackup(run, change)).toString("utf8");
}

async function readServers(text: string, { edit: { key } }: Recorded): Promise<JsonObject> {
  const data = await parseData(text, "file.json");
  const map = isJsonObject(data) ? data[key] : undefined;
  return isJsonObject(map) ? map : {};
}

function createChangedError({ file }: Recorded): GatewayError {
  return new GatewayError(
    "CONFIG_INVALID",
    `${file} was changed after toolpipe had changed it, so nothing is undone. "toolpipe init --undo --force" undoes the changes of toolpipe and keeps the others.`,
  );
}
