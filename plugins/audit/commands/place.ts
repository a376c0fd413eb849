import { dirname, join, resolve } from "node:path";
import type { JsonObject } from "../../../core/mod.ts";
import type { CommandContext, ConfigChoice } from "../../../core/services/command.ts";
import { stateFolder } from "../../lib/folders.ts";
import { usageError } from "../../lib/terminal/output.ts";
import { auditFiles } from "../read.ts";

/** The options of every command that reads the audit. */
export const placeArgs = {
  file: { type: "string", description: "Read this file of records", valueHint: "FILE" },
  folder: { type: "string", description: "Read the files of this folder", valueHint: "FOLDER" },
} as const;

/** What tells where the records are. */
export interface PlaceArgs extends ConfigChoice {
  readonly file?: string | undefined;
  readonly folder?: string | undefined;
}

/** Where the records are: in one file and those it was rotated to, or in all files of a folder. */
export interface AuditPlace {
  readonly folder: string;
  /** The file, where it is only one. */
  readonly file?: string;
  /** The files there are now, the oldest first. */
  files(): Promise<readonly string[]>;
}

/** Finds the records: where the command says, or else where the config says that they go. */
export async function auditPlace(given: PlaceArgs, context: CommandContext): Promise<AuditPlace> {
  for (const name of ["file", "folder"] as const) {
    if (given[name] === "") throw usageError(`The option --${name} needs a value.`);
  }
  if (given.file !== undefined) return oneFile(given.file);
  if (given.folder !== undefined) return wholeFolder(given.folder);
  const options = (await context.load(given)).options?.["audit"] as JsonObject | undefined;
  const { file, folder } = options ?? {};
  if (typeof file === "string") return oneFile(file);
  return wholeFolder(typeof folder === "string" ? folder : join(stateFolder(), "audit"));
}

function wholeFolder(given: string): AuditPlace {
  const folder = resolve(given);
  return { folder, files: () => auditFiles(folder) };
}

function oneFile(given: string): AuditPlace {
  const file = resolve(given);
  return { folder: dirname(file), file, files: async () => [file] };
}
