import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { GatewayError } from "../../../core/mod.ts";
import { SPAWN_FAILED } from "../../../core/services/servers.ts";
import { makeFolder, replaceFile } from "../../lib/files.ts";
import { cacheFolder } from "../../lib/folders.ts";

/** The start of a process. */
export interface Start {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd?: string | undefined;
  readonly env: Readonly<Record<string, string>>;
}

/** The variable in which the shell of npm finds the working folder of the server. */
const FOLDER = "TOOLPIPE_SERVER_FOLDER";

/** npm runs install scripts with this shell too, which stay in the folders of their packages. */
const SHELL = `#!/bin/sh
unset npm_config_script_shell
if [ "$npm_lifecycle_event" = npx ]; then
  cd "$${FOLDER}" || exit 1
  INIT_CWD=$${FOLDER}
  export INIT_CWD
fi
unset ${FOLDER}
exec /bin/sh "$@"
`;

/**
 * Makes a package runner resolve packages in a folder of ours, while the server that it starts keeps its working folder.
 * In the current folder, which may be a clone from anywhere, `npx` would run the copy in `node_modules`, ask the registry
 * of its `.npmrc`, and put its programs before those of the user. `uvx` reads the settings of the user alone by itself.
 */
export async function isolatePackageRunner(
  start: Start,
  platform: string = process.platform,
): Promise<Start> {
  const { command, args, cwd, env } = start;
  const runner = findRunner(command, args);
  if (runner === undefined || runner === "uvx") return start;
  const here = resolve(cwd ?? ".");
  if (runner !== "npx") {
    // They have no option that separates the two folders. A folder that the definition names is meant.
    const found = cwd === undefined ? findDecidingFile(runner, here) : undefined;
    if (found === undefined) return start;
    throw new GatewayError(
      SPAWN_FAILED,
      `"${runner}" is not started in ${here}, because ${found} there would decide what it runs. Use npx, or set "cwd" to a folder that you trust.`,
    );
  }
  if (namesFolder(args)) return start;
  const neutral = join(cacheFolder(), "package-runner");
  await makeFolder(neutral);
  // npm takes the nearest folder with this file for the project.
  await replaceFile(join(neutral, "package.json"), { bytes: Buffer.from("{}\n"), mode: 0o600 });
  const at = command.toLowerCase().includes("npx") ? 0 : 1;
  const withOptions = (...options: string[]): string[] => [
    ...args.slice(0, at),
    ...options,
    ...args.slice(at),
  ];
  if (platform === "win32") return { ...start, args: withOptions(`--prefix=${neutral}`) };
  const shell = join(neutral, "shell");
  await replaceFile(shell, { bytes: Buffer.from(SHELL), mode: 0o700 });
  return {
    command: /[\\/]/.test(command) ? resolve(here, command) : command,
    args: withOptions(`--script-shell=${shell}`),
    cwd: neutral,
    env: { ...env, [FOLDER]: here },
  };
}

/** Finds the runner that a command starts, by its name in any folder. */
function findRunner(command: string, [first = "", ...rest]: readonly string[]): string | undefined {
  const name = (command.split(/[\\/]/).at(-1) ?? "").toLowerCase().replace(/\.(?:exe|cmd|ps1)$/, "");
  if (["npx", "bunx", "uvx", "pnpx"].includes(name)) return name;
  if (name === "npm" && ["exec", "x"].includes(first)) return "npx";
  if (name === "bun" && first === "x") return "bunx";
  if ((name === "pnpm" || name === "yarn") && [first, ...rest].includes("dlx")) return `${name} dlx`;
  return undefined;
}

/** Whether the user means a folder: as the prefix, or as the package. */
function namesFolder(args: readonly string[]): boolean {
  const words = args[0] === "exec" || args[0] === "x" ? args.slice(1) : args;
  const end = words.findIndex((word) => !word.startsWith("-"));
  const options = words.slice(0, end < 0 ? undefined : end);
  const isPath = (word = ""): boolean => /^(?:\.{1,2}(?:$|[\\/])|[\\/~]|file:|[a-z]:[\\/])/i.test(word);
  return isPath(words[end]) || options.some((word) => /^(?:--prefix|-C)(?:=|$)/.test(word));
}

const DECIDING: Readonly<Record<string, readonly string[]>> = {
  bunx: ["node_modules", "bunfig.toml", ".npmrc"],
  "yarn dlx": [".yarnrc.yml", ".yarnrc", ".npmrc"],
};
const OF_PNPM = [".npmrc", "pnpm-workspace.yaml", ".pnpmfile.cjs"];

/** Finds the file of a folder, or of one above it, that decides what a runner starts. */
function findDecidingFile(runner: string, folder: string): string | undefined {
  const names = DECIDING[runner] ?? OF_PNPM;
  for (let at = folder; ; at = dirname(at)) {
    const found = names.map((name) => join(at, name)).find((file) => existsSync(file));
    if (found !== undefined) return found;
    if (at === dirname(at)) return undefined;
  }
}
