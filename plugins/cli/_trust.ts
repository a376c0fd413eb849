import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { findConfig } from "../../core/mod.ts";
import { type Approvals, approvalsIn } from "../approvals.ts";
import { fileStore, stateFolder } from "../state/mod.ts";
import { firstThere, projectFiles } from "./_anygpt-config.ts";

/**
 * The config that a folder holds, if a person has approved it as it is. A client starts us wherever it is opened,
 * and a config runs commands: whoever can write into a project must not thereby run them here.
 */
export async function approvedConfig(cwd: string): Promise<{ file?: string; refused?: string }> {
  const file = (await findConfig(cwd)) ?? (await firstThere(projectFiles(cwd)));
  if (file === undefined) return {};
  const status = await withApprovals(async (approvals) =>
    approvals.status("config", file, await hashOf(file)),
  );
  return status === "approved" ? { file } : { refused: file };
}

/** Lets a config be used by clients that start us in its folder, until it changes. */
export async function approveConfig(file: string): Promise<void> {
  await withApprovals(async (approvals) => approvals.approve("config", file, await hashOf(file)));
}

/** Takes that back; false if nobody had approved it. */
export async function revokeConfig(file: string): Promise<boolean> {
  return withApprovals((approvals) => approvals.revoke("config", file));
}

async function withApprovals<T>(use: (approvals: Approvals) => Promise<T>): Promise<T> {
  const store = fileStore(join(stateFolder(), "store"));
  try {
    return await use(approvalsIn(store));
  } finally {
    await store.close();
  }
}

async function hashOf(file: string): Promise<string> {
  return createHash("sha256")
    .update(await readFile(file))
    .digest("hex");
}
