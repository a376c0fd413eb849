import { join } from "node:path";
import { findConfig } from "../../core/mod.ts";
import { createApprovalStore } from "../approvals/mod.ts";
import { hashFile } from "../lib/hash.ts";
import { fileStore, stateFolder } from "../state/mod.ts";
import { firstThere, projectFiles } from "./anygpt-config.ts";

/**
 * Finds the config of a folder, if a person has approved it as it is. Clients start toolpipe in whichever folder they
 * open, and a config runs commands: without approval, anyone who can write to a project could run them here. The
 * approval is read from the person's own state, whatever the config says of state.
 */
export async function approvedConfig(cwd: string): Promise<{ file?: string; refused?: string }> {
  const file = (await findConfig(cwd)) ?? (await firstThere(projectFiles(cwd)));
  if (file === undefined) return {};
  const store = fileStore(join(stateFolder(), "store"));
  try {
    const status = await createApprovalStore(store).status("config", file, await hashFile(file));
    return status === "approved" ? { file } : { refused: file };
  } finally {
    await store.close();
  }
}
