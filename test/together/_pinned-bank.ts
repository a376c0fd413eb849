import { approvals } from "../../plugins/approvals/mod.ts";
import { type PinsOptions, pins } from "../../plugins/pins/mod.ts";
import { validate } from "../../plugins/validate.ts";
import { type BankOptions, type Guarded, openBank } from "../plugins/guard/_guarded.ts";

/** Opens a bank behind a guard whose tools are pinned, with the plugins that a preset has there. */
export function openPinnedBank({
  pins: options,
  ...rest
}: BankOptions & { readonly pins?: PinsOptions } = {}): Promise<Guarded> {
  return openBank({ ...rest, checks: [approvals(), pins(options), validate(), ...(rest.checks ?? [])] });
}
