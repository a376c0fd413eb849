import { stat } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";
import { GatewayError } from "../../../core/mod.ts";
import { type Command, configArgs, defineCommand } from "../../../core/services/command.ts";
import { ifThere } from "../../lib/files.ts";
import { counted, output, shownLine, shownPath } from "../../lib/terminal/output.ts";
import { auditFiles } from "../read.ts";
import { type Verified, verifyAudit } from "../verify.ts";
import { auditPlace, placeArgs } from "./place.ts";

/** Checks that no record was changed, removed, added or moved. */
export const verify: Command = defineCommand({
  args: {
    path: {
      type: "positional",
      required: false,
      description: "A file of records; all of them by default",
      valueHint: "FILE",
    },
    json: { type: "boolean", description: "Print JSON" },
    ...placeArgs,
    ...configArgs,
  },
  async run({ path, ...given }, context) {
    const named = path ?? given.file;
    const files = named ? [await existing(resolve(named))] : await (await auditPlace(given, context)).files();
    const folders = new Set(files.map((file) => dirname(file)));
    const beside = (await Promise.all([...folders].map(auditFiles))).flat();
    const verified = await verifyAudit(files, beside);
    const isIntact = verified.every(({ fault }) => !fault);
    output(given.json, { valid: isIntact, files: verified }, () =>
      verified.length === 0 ? "There are no records yet.\n" : verified.map(describe).join(""),
    );
    return isIntact ? 0 : 1;
  },
});

async function existing(file: string): Promise<string> {
  if (await ifThere(stat(file))) return file;
  throw new GatewayError("CONFIG_INVALID", `${file}: there is no such file.`);
}

function describe({ file, records, isTorn, fault }: Verified): string {
  const name = shownPath(file);
  if (!fault) {
    const note = isTorn ? `! ${name}: its last line was never finished, as a process was killed.\n` : "";
    return `✓ ${name}: ${counted(records, "record")}\n${note}`;
  }
  const which = fault.seq === undefined ? "what is there" : `record ${fault.seq}`;
  const request = fault.request_id === undefined ? "" : ` (request ${shownLine(fault.request_id)})`;
  return `✗ ${name}: line ${fault.line}: ${which}${request} ${fault.reason}. ${counted(records, "record")} before it in ${basename(file)} ${records === 1 ? "is" : "are"} intact.\n`;
}
