import { stat } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";
import { GatewayError } from "../../../core/mod.ts";
import { configArgs, defineCommand } from "../../../core/services/command.ts";
import { ifExists } from "../../lib/files.ts";
import { formatCount, formatPath, output, toTerminalLine } from "../../lib/terminal/output.ts";
import { listAuditFiles, locateAudit, locationArgs } from "../audit-files.ts";
import { type Verified, verifyAudit } from "../verify.ts";

/** Checks that no record was changed, removed, added or moved. */
export const command = defineCommand({
  args: {
    path: {
      type: "positional",
      required: false,
      description: "A file of records; all of them by default",
      valueHint: "FILE",
    },
    json: { type: "boolean", description: "Print JSON" },
    ...locationArgs,
    ...configArgs,
  },
  async run({ path, ...given }, context) {
    const named = path ?? given.file;
    const files = named
      ? [await checkExists(resolve(named))]
      : await (await locateAudit(given, context)).files();
    const folders = new Set(files.map((file) => dirname(file)));
    const beside = (await Promise.all([...folders].map(listAuditFiles))).flat();
    const verified = await verifyAudit(files, beside);
    const isIntact = verified.every(({ fault }) => !fault);
    output(given.json, { valid: isIntact, files: verified }, () =>
      verified.length === 0 ? "There are no records yet.\n" : verified.map(describe).join(""),
    );
    return isIntact ? 0 : 1;
  },
});

async function checkExists(file: string): Promise<string> {
  if (await ifExists(stat(file))) return file;
  throw new GatewayError("CONFIG_INVALID", `${file}: there is no such file.`);
}

function describe({ file, records, isTorn, fault }: Verified): string {
  const name = formatPath(file);
  if (!fault) {
    const note = isTorn ? `! ${name}: its last line was never finished, as a process was killed.\n` : "";
    return `✓ ${name}: ${formatCount(records, "record")}\n${note}`;
  }
  const which = fault.seq === undefined ? "the line" : `record ${fault.seq}`;
  const request = fault.request_id === undefined ? "" : ` (request ${toTerminalLine(fault.request_id)})`;
  return `✗ ${name}: line ${fault.line}: ${which}${request} ${fault.reason}. ${formatCount(records, "record")} before it in ${basename(file)} ${records === 1 ? "is" : "are"} intact.\n`;
}
