import { stat } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";
import type { LoadedConfig } from "../../../core/load-config.ts";
import { GatewayError } from "../../../core/mod.ts";
import { configArgs, defineCommand } from "../../../core/services/command.ts";
import type { StateStore } from "../../../core/services/state.ts";
import { ifExists } from "../../lib/files.ts";
import { keepStateAlone } from "../../lib/state-alone.ts";
import { formatCount, formatPath, output, toTerminalLine, usageError } from "../../lib/terminal/output.ts";
import {
  checkLocation,
  getAuditOptions,
  type LocationArgs,
  listAuditFiles,
  locateIn,
  locationArgs,
} from "../audit-files.ts";
import { readKeyFile } from "../key.ts";
import { readExportedAnchors, readStoredAnchors } from "../read-anchors.ts";
import { type Verified, verifyRecords } from "../verify.ts";

interface Given extends LocationArgs {
  readonly path?: string | undefined;
  readonly anchors?: string | undefined;
  readonly key?: string | undefined;
}

/** Checks that no record was changed, removed, added or moved, and that no file was cut, removed or written anew. */
export const command = defineCommand({
  args: {
    path: {
      type: "positional",
      required: false,
      description: "A file of records; all of them by default",
      valueHint: "FILE",
    },
    anchors: {
      type: "string",
      description: "File of the anchors that were exported; by default that of the config",
      valueHint: "FILE",
    },
    key: {
      type: "string",
      description: "File of the key of the records; by default audit.key in the state folder",
      valueHint: "FILE",
    },
    json: { type: "boolean", description: "Print JSON" },
    ...locationArgs,
    ...configArgs,
  },
  async run(given, context) {
    checkLocation(given);
    for (const name of ["anchors", "key"] as const) {
      if (given[name] === "") throw usageError(`The option --${name} needs a value.`);
    }
    const named = given.path ?? given.file;
    if (named) await checkExists(resolve(named));
    return context.open(
      given,
      async ({ services }, config) => {
        const { verified, damaged } = await verify(given, config, services.state);
        const isIntact = damaged.length === 0 && verified.every(({ fault }) => !fault);
        output(given.json, { valid: isIntact, files: verified, damaged_anchors: damaged }, () =>
          verified.length + damaged.length === 0
            ? "There are no records yet.\n"
            : verified.map(describe).join("") + damaged.map(describeDamaged).join(""),
        );
        return isIntact ? 0 : 1;
      },
      { adjust: keepStateAlone },
    );
  },
});

async function verify(given: Given, config: LoadedConfig, store: StateStore | undefined) {
  const options = getAuditOptions(config);
  const file = given.path ?? given.file;
  const location = locateIn({ ...given, file }, options);
  // Before the files: these only grow, so they hold at least what the anchors say.
  const exported = given.anchors ?? options["anchor"];
  const read = [await readStoredAnchors(store)];
  if (typeof exported === "string") read.push(await readExportedAnchors(exported));
  const files = await location.files();
  const folders = new Set(files.map((each) => dirname(each)));
  const beside = (await Promise.all([...folders].map(listAuditFiles))).flat();
  const verified = await verifyRecords(files, beside, {
    key: given.key === undefined ? undefined : await readKey(resolve(given.key)),
    anchors: read.flatMap(({ anchors }) => anchors),
    folders: location.folder === undefined ? [] : [location.folder],
    keepDays: typeof options["keepDays"] === "number" ? options["keepDays"] : 30,
  });
  return { verified, damaged: read.flatMap(({ damaged }) => damaged) };
}

async function readKey(file: string): Promise<Buffer> {
  const key = readKeyFile(file);
  if (key) return key;
  throw new GatewayError("CONFIG_INVALID", `${file}: there is no such file.`);
}

async function checkExists(file: string): Promise<void> {
  if (await ifExists(stat(file))) return;
  throw new GatewayError("CONFIG_INVALID", `${file}: there is no such file.`);
}

function describe({ file, records, isTorn, keyed = 0, isOpen, fault }: Verified): string {
  const name = formatPath(file);
  if (!fault) {
    const without =
      keyed === records ? "" : keyed === 0 ? ", without a key" : `, ${records - keyed} of them without a key`;
    const torn = isTorn ? `! ${name}: its last line was never finished, as a process was killed.\n` : "";
    const open = isOpen
      ? `! ${name}: nothing shows where it ends: it has no closing record, and no anchor is kept of it.\n`
      : "";
    return `✓ ${name}: ${formatCount(records, "record")}${without}\n${torn}${open}`;
  }
  if (fault.line === undefined && fault.seq === undefined) return `✗ ${name}: ${fault.reason}.\n`;
  const which = fault.seq === undefined ? "the line" : `record ${fault.seq}`;
  const where = fault.line === undefined ? "" : `line ${fault.line}: `;
  const request = fault.request_id === undefined ? "" : ` (request ${toTerminalLine(fault.request_id)})`;
  const what = `✗ ${name}: ${where}${which}${request} ${fault.reason}.`;
  if (fault.kind !== "changed") return `${what}\n`;
  return `${what} ${formatCount(records, "record")} before it in ${basename(file)} ${records === 1 ? "is" : "are"} intact.\n`;
}

function describeDamaged(location: string): string {
  return `✗ ${toTerminalLine(location)}: an anchor that cannot be read: what it says may be missing is not checked.\n`;
}
