import { dirname, join, resolve } from "node:path";
import type { JsonObject } from "../../core/mod.ts";
import { auditFiles } from "../audit/read.ts";
import { stateFolder } from "../state/mod.ts";
import { type ConfigArgs, loadCliConfig } from "./_gateway.ts";
import { usageError } from "./_usage.ts";

/** The options of every command that reads the audit. */
export const placeArgs = {
  file: { type: "string", description: "Read this file of records", valueHint: "FILE" },
  folder: { type: "string", description: "Read the files of this folder", valueHint: "FOLDER" },
} as const;

/** What tells where the records are. */
export interface PlaceArgs extends ConfigArgs {
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
export async function auditPlace(given: PlaceArgs): Promise<AuditPlace> {
  for (const name of ["file", "folder"] as const) {
    if (given[name] === "") throw usageError(`The option --${name} needs a value.`);
  }
  if (given.file !== undefined) return oneFile(given.file);
  if (given.folder !== undefined) return wholeFolder(given.folder);
  const options = (await loadCliConfig(given)).options?.["audit"] as JsonObject | undefined;
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
