import type { Connection } from "../../../core/services/sources.ts";

/** Whether a connection leads back to this gateway: a gateway that imported itself would start itself without end. */
export function isSelf(connection: Connection, ownUrls: readonly string[] = []): boolean {
  if (connection.type !== "stdio") return isOwnUrl(connection.url, ownUrls);
  // A bridge such as mcp-remote is given the URL as an argument.
  if (ownUrls.length > 0 && connection.args.some((arg) => isOwnUrl(arg, ownUrls))) return true;
  return runsSelf([connection.command, ...connection.args.slice(0, MOST)]);
}

function isOwnUrl(text: string, ownUrls: readonly string[]): boolean {
  if (!URL.canParse(text)) return false;
  const { origin, pathname } = new URL(text);
  return ownUrls.some((own) => {
    const url = new URL(own);
    return url.origin === origin && url.pathname.replace(/\/$/, "") === pathname.replace(/\/$/, "");
  });
}

const OWN_PROGRAM = /^(toolpipe|anygpt)(\.(exe|cmd|bat|ps1|js|mjs|cjs|ts))?$/i;
const OWN_PACKAGE =
  /^(npm:|jsr:)?(@toolpipe\/[\w.-]+|toolpipe|@anygpt\/(discovery|cli|mcp-discovery))(@[^/]*)?(\/.*)?$/i;
const OWN_IMAGE = /^([\w.-]+(:\d+)?\/)*(anygpt\/discovery|toolpipe)(:[\w.-]+)?(@sha256:\w+)?$/i;
// Spec 001's "local development".
const OWN_SOURCES = /[\\/]anygpt[\\/](.*[\\/])?mcp-discovery[\\/]/i;

const shells = new Set(["sh", "bash", "zsh", "cmd"]);
const runners = new Set("npx pnpx bunx npm pnpm yarn bun deno node nodejs tsx".split(" "));

/** No honest definition nests commands deeper. */
const DEEPEST = 4;
/** The program to run is among the first arguments. */
const MOST = 200;
/** Longer arguments are no names, and would take the patterns too long. */
const LONGEST = 4_096;

/** Whether a command line runs toolpipe. Its other arguments do not count: a folder may be called toolpipe. */
function runsSelf(line: readonly string[], depth = 1): boolean {
  const [command = "", ...args] = line;
  if (depth > DEEPEST || command.length > LONGEST) return false;
  const program = baseName(command)
    .replace(/\.(exe|cmd|bat)$/i, "")
    .toLowerCase();
  if (OWN_PROGRAM.test(baseName(command))) return true;
  if (shells.has(program)) return runsSelf(parseShellLine(args), depth + 1);
  if (program === "env") return runsSelf(skipSettings(args), depth + 1);
  if (program === "docker" || program === "podman") return OWN_IMAGE.test(findImage(args));
  if (!runners.has(program)) return false;
  return findPackages(args).some((arg) => arg.length <= LONGEST && (OWN_PACKAGE.test(arg) || isOwnFile(arg)));
}

function isOwnFile(arg: string): boolean {
  return /[\\/.]/.test(arg) && (OWN_PROGRAM.test(baseName(arg)) || OWN_SOURCES.test(arg));
}

/** `env -i A=1 npx toolpipe` → `npx toolpipe`. */
function skipSettings(args: readonly string[]): readonly string[] {
  const at = args.findIndex((arg) => !arg.startsWith("-") && !arg.includes("="));
  return at < 0 ? [] : args.slice(at);
}

function baseName(path: string): string {
  return path.split(/[\\/]/).at(-1) ?? "";
}

/** Returns the command of a shell: `sh -c "npx toolpipe"`, `cmd /c npx toolpipe`. */
function parseShellLine(args: readonly string[]): readonly string[] {
  const at = args.findIndex((arg) => /^(-\w*c|\/c)$/i.test(arg));
  const words = args
    .slice(at + 1)
    .join(" ")
    .trim()
    .split(/\s+/);
  return words[0] === "exec" ? words.slice(1) : words;
}

const subcommands = new Set(["exec", "x", "dlx", "run", "start"]);
const takesValue = new Set("-r --require --import --loader -c --config --cwd -C --env-file".split(" "));

/** Finds the package or file of a package runner or an interpreter, and packages that it installs. */
function findPackages(args: readonly string[]): readonly string[] {
  const found: string[] = [];
  for (let index = 0; index < args.length; index++) {
    const arg = args[index] as string;
    const wanted = /^(?:-p|--package)(?:=(.+))?$/.exec(arg);
    if (wanted) found.push(wanted[1] ?? args[++index] ?? "");
    else if (takesValue.has(arg)) index++;
    else if (!arg.startsWith("-") && !(subcommands.has(arg) && index === 0)) return [...found, arg];
  }
  return found;
}

const flags = /^-(-rm|-init|-interactive|-tty|-detach|-privileged|-read-only|[itdP]+)$/;

/** Finds the image of `docker run`: the first argument that is neither an option nor the value of one. */
function findImage(args: readonly string[]): string {
  const start = args.indexOf("run") + 1;
  if (start === 0) return "";
  for (let index = start; index < args.length; index++) {
    const arg = args[index] as string;
    if (!arg.startsWith("-")) return arg;
    if (!flags.test(arg) && !arg.includes("=")) index++;
  }
  return "";
}
