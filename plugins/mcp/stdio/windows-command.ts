import { statSync } from "node:fs";
import { win32 } from "node:path";
import { GatewayError } from "../../../core/mod.ts";
import { SPAWN_FAILED } from "../../../core/services/servers.ts";

/**
 * Resolves a command as Windows can start it. `npx` and its like are scripts of the command interpreter, which Windows
 * does not start by itself, and which read their arguments by rules of their own: then `verbatim` is true.
 */
export function resolveWindowsCommand(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  isFile: (path: string) => boolean = isExistingFile,
): { file: string; args: readonly string[]; verbatim: boolean } {
  const file = locate(command, env, isFile) ?? command;
  if (!/\.(cmd|bat)$/i.test(file)) return { file, args, verbatim: false };
  const line = [quoteArgument(file, true), ...args.map((arg) => quoteArgument(arg, false))].join(" ");
  return {
    file: readVariable(env, "COMSPEC") ?? "cmd.exe",
    args: ["/e:ON", "/v:OFF", "/d", "/c", `"${line}"`],
    verbatim: true,
  };
}

function locate(
  command: string,
  env: Readonly<Record<string, string>>,
  isFile: (path: string) => boolean,
): string | undefined {
  const endings = (readVariable(env, "PATHEXT") ?? ".COM;.EXE;.BAT;.CMD").split(";").filter(Boolean);
  const hasEnding = endings.some((ending) => command.toLowerCase().endsWith(ending.toLowerCase()));
  const names = [...(hasEnding ? [command] : []), ...endings.map((ending) => `${command}${ending}`)];
  const folders = /[\\/]/.test(command) ? [""] : (readVariable(env, "PATH") ?? "").split(";").filter(Boolean);
  for (const folder of folders) {
    for (const name of names) {
      const path = folder === "" ? name : win32.join(folder.replaceAll('"', ""), name);
      if (isFile(path)) return path;
    }
  }
  return undefined;
}

/**
 * Writes one argument so that the interpreter, and the script that passes it on, take it as it is. Quotes keep
 * everything but `%` literal; an empty slice of a variable between two of them stops that one.
 */
function quoteArgument(arg: string, always: boolean): string {
  if (/[\r\n\0]/.test(arg)) {
    throw new GatewayError(
      SPAWN_FAILED,
      "An argument of the command holds a line break, which a Windows script cannot be given.",
    );
  }
  const safe = arg.replaceAll("%", "%%cd:~,%");
  if (!always && arg !== "" && /^[\p{L}\p{N}#$*+\-./:?@\\_]*$/u.test(arg) && !arg.endsWith("\\")) return safe;
  return `"${safe.replace(/(\\*)"/g, '$1$1""').replace(/\\+$/, "$&$&")}"`;
}

function readVariable(env: Readonly<Record<string, string>>, name: string): string | undefined {
  const spelling = Object.keys(env).find((key) => key.toUpperCase() === name);
  return spelling === undefined ? undefined : env[spelling];
}

function isExistingFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}
