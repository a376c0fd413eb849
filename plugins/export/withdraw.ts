import { removeWritten } from "./pending-files.ts";
import { CAPABILITIES, forgetRecord, readRecord } from "./record.ts";
import type { ApprovalParts } from "./request-approval.ts";

/**
 * Takes back what was approved of a server, and what was asked for; false if there is nothing. Its tools are held
 * back from the first step on: whatever ends this half way, nothing can be called that could not be called before.
 */
export async function withdraw(
  { store, approvals }: ApprovalParts,
  server: string,
  unregister: (config: string) => Promise<void>,
): Promise<boolean> {
  const record = await readRecord(store, server);
  if (!record) return false;
  const { pending, approved } = record;
  await approvals.revoke(CAPABILITIES, server);
  if (approved) {
    await unregister(approved.config);
    await removeWritten(server, approved.folder, approved.tools);
  }
  if (pending) await removeWritten(server, pending.folder, pending.tools);
  await forgetRecord(store, server);
  return true;
}
