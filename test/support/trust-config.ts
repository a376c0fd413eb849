import { join } from "node:path";
import { findConfig } from "../../core/mod.ts";
import { createApprovalStore } from "../../plugins/approvals/mod.ts";
import { projectFiles } from "../../plugins/cli/config-files.ts";
import { hashConfigFile } from "../../plugins/lib/local-files.ts";
import { fileStore, stateFolder } from "../../plugins/state/mod.ts";

/** Approves the configs of a folder as they are now, as their user would have done with `toolpipe approve --file`. */
export async function trustConfig(cwd: string, env: NodeJS.ProcessEnv = process.env): Promise<void> {
  // Several configs in one folder are for the command to refuse.
  const named = await findConfig(cwd).catch(() => undefined);
  const store = fileStore(join(stateFolder(env), "store"));
  try {
    for (const file of named === undefined ? projectFiles(cwd) : [named]) {
      const hash = await hashConfigFile(file).catch(() => undefined);
      if (hash !== undefined) await createApprovalStore(store).approve("config", file, hash);
    }
  } finally {
    await store.close();
  }
}
