import { createReadStream } from "node:fs";
import { join, resolve } from "node:path";
import type { LoadedConfig } from "../../core/load-config.ts";
import type { JsonObject } from "../../core/mod.ts";
import type { CommandContext, ConfigChoice } from "../../core/services/command.ts";
import { ifExists, listFolder } from "../lib/files.ts";
import { stateFolder } from "../lib/folders.ts";
import { parseJsonObject } from "../lib/json.ts";
import { usageError } from "../lib/terminal/output.ts";

/** Line of an audit file. */
export interface AuditLine {
  /** Line number, from 1. */
  readonly line: number;
  /** Undefined if the line is not a JSON object. */
  readonly record: JsonObject | undefined;
  /** Whether a line break follows; the last line of a killed process may have none. */
  readonly isWhole: boolean;
  /** Offset of its end in the file. */
  readonly end: number;
}

/** Lists the audit files of a folder, rotated ones included, sorted by name: the oldest is first. */
export async function listAuditFiles(folder: string): Promise<string[]> {
  const names = (await listFolder(folder)).filter(
    (name) => /\.jsonl([.-]|$)/.test(name) && !/\.(gz|zst|xz|bz2)$/.test(name),
  );
  return names.toSorted().map((name) => join(folder, name));
}

/** Reads an audit file line by line from an offset. A missing file has no lines. */
export async function* readAudit(file: string, from = 0): AsyncGenerator<AuditLine> {
  let line = 0;
  let end = from;
  let rest = Buffer.alloc(0);
  const stream = createReadStream(file, { start: from });
  const chunks = stream[Symbol.asyncIterator]();
  for (;;) {
    const next = await ifExists(chunks.next());
    if (!next || next.done) break;
    let bytes = Buffer.concat([rest, next.value as Buffer]);
    for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10)) {
      line++;
      end += at + 1;
      yield { line, record: parseJsonObject(bytes.toString("utf8", 0, at)), isWhole: true, end };
      bytes = bytes.subarray(at + 1);
    }
    rest = Buffer.from(bytes);
  }
  if (rest.length > 0)
    yield {
      line: line + 1,
      record: parseJsonObject(rest.toString()),
      isWhole: false,
      end: end + rest.length,
    };
}

/** Options of every command that reads audit records. */
export const locationArgs = {
  file: { type: "string", description: "Read this file of records", valueHint: "FILE" },
  folder: { type: "string", description: "Read the files of this folder", valueHint: "FOLDER" },
} as const;

/** Values of {@link locationArgs}. */
export interface LocationArgs extends ConfigChoice {
  readonly file?: string | undefined;
  readonly folder?: string | undefined;
}

/** Location of audit records: one file, or all files of a folder. */
export interface AuditLocation {
  /** The folder, if all files of one are meant. */
  readonly folder?: string;
  /** Lists the current files, the oldest first. */
  files(): Promise<readonly string[]>;
}

/** Locates the records that the options name, or else those of the config. */
export async function locateAudit(given: LocationArgs, context: CommandContext): Promise<AuditLocation> {
  checkLocation(given);
  const isNamed = given.file !== undefined || given.folder !== undefined;
  return locateIn(given, isNamed ? {} : getAuditOptions(await context.load(given)));
}

/** Throws if an option that names a location has no value. */
export function checkLocation(given: LocationArgs): void {
  for (const name of ["file", "folder"] as const) {
    if (given[name] === "") throw usageError(`The option --${name} needs a value.`);
  }
}

/** Returns the options of the plugin in a config. */
export function getAuditOptions({ settings }: Pick<LoadedConfig, "settings">): Readonly<JsonObject> {
  return (settings?.["audit"] as JsonObject | undefined) ?? {};
}

/** Locates the records that the arguments name, or else those that the options of the plugin do. */
export function locateIn(given: LocationArgs, { file, folder }: Readonly<JsonObject>): AuditLocation {
  if (given.file !== undefined) return locateFile(given.file);
  if (given.folder !== undefined) return locateFolder(given.folder);
  if (typeof file === "string") return locateFile(file);
  return locateFolder(typeof folder === "string" ? folder : join(stateFolder(), "audit"));
}

function locateFolder(given: string): AuditLocation {
  const folder = resolve(given);
  return { folder, files: () => listAuditFiles(folder) };
}

function locateFile(given: string): AuditLocation {
  const file = resolve(given);
  return { files: async () => [file] };
}
