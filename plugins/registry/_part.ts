import { randomBytes } from "node:crypto";
import { constants, open, readFile, rename, stat, truncate, unlink } from "node:fs/promises";
import { join } from "node:path";
import { GatewayError, isJsonObject } from "../../core/mod.ts";
import { isGone, type Owner, thisProcess } from "../guard/owner.ts";
import { codeOf, ifThere, makeFolder, namesIn, unlinkIfThere, writeNew } from "../state/_files.ts";
import { idOf, parseLine } from "./_snapshot.ts";
import { type RegistryEntry, readEntry, writeEntry } from "./entry.ts";

/** A sync on its way: what has come so far is on the disk, so that a later one can go on from there. */
export interface Part {
  readonly entries: readonly RegistryEntry[];
  /** Where the next page begins; nothing at the very beginning. */
  readonly cursor: string | undefined;
  /** When the sync was begun, by the registry's clock if that is known. */
  readonly startedAt: number | undefined;
  /** Whether somebody else began it. */
  readonly isResumed: boolean;
  /** Adds a page; returns how large the part has become. */
  add(entries: readonly RegistryEntry[], cursor: string | undefined, at: number): Promise<number>;
  /** Leaves it to whoever comes next. */
  leave(): Promise<void>;
  remove(): Promise<void>;
}

const DAY_MS = 86_400_000;

/** Goes on with what a sync of the same changes has left behind, or begins. */
export async function openPart(folder: string, registry: string, since: string | undefined): Promise<Part> {
  await onDisk(folder, makeFolder(folder));
  const prefix = idOf(registry);
  const own = (ending: "part" | "rest"): string =>
    join(folder, `${prefix}.${randomBytes(6).toString("hex")}.${ending}`);
  const file = own("part");
  const names = (await namesIn(folder)).filter(
    (name) => name.startsWith(`${prefix}.`) && /\.(part|rest)$/.test(name),
  );
  for (const name of names) {
    const found = await adopt(join(folder, name), file, registry, since);
    if (found) return partAt(found);
  }
  await onDisk(folder, writeNew(file, line({ since: since ?? null, owner: thisProcess() })));
  return partAt({ entries: [], cursor: undefined, startedAt: undefined, isResumed: false });

  function partAt(found: Found): Part {
    let cursorNow = found.cursor;
    return {
      ...found,
      async add(entries, cursor, at) {
        const begun = cursorNow === undefined && found.startedAt === undefined ? { startedAt: at } : {};
        cursorNow = cursor;
        const lines = entries.map((entry) => line(writeEntry(entry)));
        const text = [...lines, line({ cursor: cursor ?? null, ...begun })].join("");
        return onDisk(folder, append(file, text));
      },
      async leave() {
        await ifThere(rename(file, own("rest")));
      },
      async remove() {
        await unlinkIfThere(file);
      },
    };
  }
}

type Found = Pick<Part, "entries" | "cursor" | "startedAt" | "isResumed">;

/** Takes over what another left, if it is of use and nobody works on it. Of two that try, one succeeds. */
async function adopt(
  from: string,
  to: string,
  registry: string,
  since: string | undefined,
): Promise<Found | undefined> {
  const text = (await ifThere(readFile(from, "utf8"))) ?? "";
  const read = readPart(text, registry);
  if (from.endsWith(".part") && read.owner && !isGone(read.owner)) return undefined;
  const changed = await ifThere(stat(from));
  const isOld = changed !== undefined && Date.now() - changed.mtimeMs > DAY_MS;
  if (isOld || read.since !== (since ?? null) || read.cursor === undefined) {
    await unlink(from).catch(() => {});
    return undefined;
  }
  const isOurs = await ifThere(rename(from, to).then(() => true));
  if (!isOurs) return undefined;
  // What came after the last whole page is asked for again.
  await truncate(to, read.length);
  await append(to, line({ owner: thisProcess() }));
  const { entries, cursor, startedAt } = read;
  return { entries, cursor, startedAt, isResumed: true };
}

interface ReadPart {
  readonly entries: readonly RegistryEntry[];
  readonly since: unknown;
  readonly owner: Owner | undefined;
  readonly cursor: string | undefined;
  readonly startedAt: number | undefined;
  /** The bytes up to the last whole page. */
  readonly length: number;
}

function readPart(text: string, registry: string): ReadPart {
  const entries: RegistryEntry[] = [];
  let page: RegistryEntry[] = [];
  let owner: Owner | undefined;
  let since: unknown;
  let cursor: string | undefined;
  let startedAt: number | undefined;
  let length = 0;
  let at = 0;
  const lines = text.split("\n");
  // What stands behind the last line end was never finished.
  for (const one of lines.slice(0, -1)) {
    at += Buffer.byteLength(one) + 1;
    const value = parseLine(one);
    if (!value) break;
    if ("since" in value) since = value["since"];
    if (isJsonObject(value["owner"])) owner = value["owner"] as unknown as Owner;
    if (typeof value["startedAt"] === "number") startedAt = value["startedAt"];
    const entry = value["server"] === undefined ? undefined : readEntry(value, registry);
    if (entry) page.push(entry);
    if (typeof value["cursor"] !== "string") continue;
    ({ cursor } = value as { cursor: string });
    entries.push(...page);
    page = [];
    length = at;
  }
  return { entries, since, owner, cursor, startedAt, length };
}

/** Never makes the file: one that is gone was taken over by another process. */
async function append(file: string, text: string): Promise<number> {
  const handle = await open(file, constants.O_WRONLY | constants.O_APPEND);
  try {
    await handle.writeFile(text);
    return (await handle.stat()).size;
  } finally {
    await handle.close();
  }
}

/** A disk that is full or not ours is nothing that a registry could help. */
async function onDisk<T>(folder: string, step: Promise<T>): Promise<T> {
  try {
    return await step;
  } catch (cause) {
    const message = `${folder}: what registries list cannot be kept there (${codeOf(cause) ?? "the system refused it"}).`;
    throw new GatewayError("CONFIG_INVALID", message, { cause });
  }
}

function line(value: object): string {
  return `${JSON.stringify(value)}\n`;
}
