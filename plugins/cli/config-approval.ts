import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline/promises";
import { findConfig, GatewayError } from "../../core/mod.ts";
import { type ApprovalStore, createApprovalStore } from "../approvals/mod.ts";
import { findNamedFiles, hashConfigFile } from "../lib/local-files.ts";
import { quoteForShell, toTerminalLine, toTerminalLines } from "../lib/terminal/output.ts";
import { fileStore, stateFolder } from "../state/mod.ts";
import { findReadable, projectFiles, userFiles } from "./config-files.ts";

/** The config of a folder. */
export interface FolderConfig {
  readonly file?: string;
  /** A config that is not approved, and the explanation why it is not used. */
  readonly refused?: { readonly file: string; readonly why: string };
}

/** The kind of approval that the config of a folder needs. */
const KIND = "config";
/** Lines of a config that are shown before the question, half of them from its end. */
const SHOWN_LINES = 60;

/**
 * Throws unless the user has approved the configs that are found in a folder. A config runs commands, and one in
 * TypeScript or JavaScript is a program: without approval, everyone who can write to a folder could run code as the user
 * of any command. A config that is named with `--config`, and the user's own, need none.
 */
export async function requireApprovedConfigs(cwd: string, asks: boolean): Promise<void> {
  for (const file of await findFolderConfigs(cwd)) {
    if (await isConfigApproved(file)) continue;
    if (!asks || !process.stdin.isTTY || !process.stderr.isTTY) throw notApproved(file);
    // Before it is shown: what changes while the user reads is not approved.
    const hash = await hashConfigFile(file);
    process.stderr.write(await describeConfig(file));
    if (!(await askUser("Use it, also later, as long as nothing of it changes? [y/N] ")))
      throw notApproved(file);
    await withApprovals((approvals) => approvals.approve(KIND, file, hash));
  }
}

/** Finds the config of a folder if it is approved, or explains why the one that it has is not used. */
export async function findApprovedConfig(cwd: string): Promise<FolderConfig> {
  const [file] = await findFolderConfigs(cwd);
  if (file === undefined) return {};
  return (await isConfigApproved(file)) ? { file } : { refused: { file, why: describeRefused(file) } };
}

/** Explains that a config is not used, with the command that approves it. */
function describeRefused(file: string): string {
  return `${toTerminalLine(file)} is not used, because it is not approved in its current form. To use it, read it, then run: toolpipe approve --file ${quoteForShell(file)}`;
}

/** Lists the configs that are used in a folder without being named, in order. The user's own need no approval. */
async function findFolderConfigs(cwd: string): Promise<readonly string[]> {
  const own = userFiles();
  const named = await findConfig(cwd);
  if (named !== undefined) return own.includes(named) ? [] : [named];
  const files: string[] = [];
  for (const file of projectFiles(cwd)) {
    if (!own.includes(file) && (await findReadable([file])) !== undefined) files.push(file);
  }
  return files;
}

async function isConfigApproved(file: string): Promise<boolean> {
  const hash = await hashConfigFile(file);
  return (await withApprovals((approvals) => approvals.status(KIND, file, hash))) === "approved";
}

/** The approval is kept in the state folder of the user, even if the config chooses another state store. */
async function withApprovals<T>(use: (approvals: ApprovalStore) => Promise<T>): Promise<T> {
  const store = fileStore(join(stateFolder(), "store"));
  try {
    return await use(createApprovalStore(store));
  } finally {
    await store.close();
  }
}

function notApproved(file: string): GatewayError {
  return new GatewayError(
    "CONFIG_INVALID",
    `${describeRefused(file)}. To use it once: --config ${quoteForShell(file)}`,
    {
      data: { event: "config-not-approved", file },
    },
  );
}

async function describeConfig(file: string): Promise<string> {
  const lines = toTerminalLines(await readFile(file, "utf8"))
    .trimEnd()
    .split("\n");
  const half = SHOWN_LINES / 2;
  const shown =
    lines.length <= SHOWN_LINES
      ? lines
      : [...lines.slice(0, half), `… ${lines.length - SHOWN_LINES} more lines …`, ...lines.slice(-half)];
  const others = (await findNamedFiles(file)).filter((one) => one !== file);
  return [
    `${toTerminalLine(file)} is not approved in its current form. It can run programs as you. It says:`,
    "",
    ...shown.map(
      (line) =>
        `  ${line.slice(0, 500)}${line.length > 500 ? ` … ${line.length - 500} more characters` : ""}`,
    ),
    "",
    ...(others.length > 0
      ? ["It is approved together with:", ...others.map((one) => `  ${toTerminalLine(one)}`), ""]
      : []),
    "",
  ].join("\n");
}

/** Asks the user at the terminal for a yes. Standard output stays free for the result of the command. */
async function askUser(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const closed = new Promise<string>((resolve) => terminal.once("close", () => resolve("")));
  try {
    // A terminal that closes is no yes.
    return /^y(es)?$/i.test((await Promise.race([terminal.question(question), closed])).trim());
  } finally {
    terminal.close();
  }
}
