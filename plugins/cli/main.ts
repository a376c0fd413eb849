import { stripVTControlCharacters } from "node:util";
import { type CommandDef, type Resolvable, renderUsage, runCommand } from "citty";
import { errorKinds, GatewayError } from "../../core/errors.ts";
import { nearest } from "../../core/nearest.ts";
import { version } from "../../core/version.ts";
import { hasColours } from "./_output.ts";
import { usageError } from "./_usage.ts";

interface Found {
  readonly command: CommandDef;
  /** The words that name it. */
  readonly names: readonly string[];
  readonly args: readonly string[];
}

/** Runs a command and returns its exit code. Failures are one line on standard error. */
export async function main(command: CommandDef, rawArgs: string[]): Promise<number> {
  const ownArgs = rawArgs.includes("--") ? rawArgs.slice(0, rawArgs.indexOf("--")) : rawArgs;
  try {
    if (ownArgs[0] === "--version" || ownArgs[0] === "-v") {
      process.stdout.write(`${version}\n`);
      return 0;
    }
    const wantsHelp = rawArgs.length === 0 || ownArgs.some((arg) => arg === "--help" || arg === "-h");
    const found = await find(command, rawArgs, wantsHelp);
    if (wantsHelp) {
      process.stdout.write(`${await usageOf(found)}\n`);
      return 0;
    }
    const { result } = await runCommand(found.command, { rawArgs: found.args.map(withoutValue) });
    return typeof result === "number" ? result : 0;
  } catch (thrown) {
    const error =
      thrown instanceof Error && thrown.name === "CLIError"
        ? usageError(`${stripVTControlCharacters(thrown.message)}.`)
        : thrown;
    if (!GatewayError.is(error)) throw thrown;
    process.stderr.write(`${error.message}${ownWords(error)}\n`);
    return error.kind.exit;
  }
}

/** The parser would take another option for the value of one whose value may be left out. */
function withoutValue(arg: string, index: number, all: readonly string[]): string {
  return arg === "--http" && all[index + 1]?.startsWith("-") ? "--http=" : arg;
}

/** What a plugin said as it failed to be set up: for whoever sits here, who configured it. */
function ownWords({ code, cause }: GatewayError): string {
  return code === errorKinds.PLUGIN_FAILED.code && cause instanceof Error
    ? ` It says: ${cause.message.split("\n", 1)[0]}`
    : "";
}

/**
 * Runs a command as the process itself: with its arguments, and its exit code. Without any arguments, a client
 * that starts us wants to be served, and a person wants to know what there is.
 */
export async function runAsProcess(command: CommandDef, served: readonly string[]): Promise<void> {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    // A reader that has seen enough, such as `head`, is no failure.
    if (error.code !== "EPIPE") throw error;
  });
  for (const [signal, code] of Object.entries({ SIGINT: 130, SIGTERM: 143 })) {
    process.on(signal, () => {
      // By itself a signal runs no listeners of the exit, which end the servers that were started.
      if (process.listenerCount(signal) === 1) process.exit(code);
    });
  }
  const args = process.argv.slice(2);
  const isClient = args.length === 0 && !process.stdin.isTTY;
  process.exitCode = await main(command, isClient ? [...served] : args);
}

/** Follows the words to the command they name; for help, as far as they name one. */
async function find(root: CommandDef, rawArgs: readonly string[], forHelp: boolean): Promise<Found> {
  let found: Found = { command: root, names: [await nameOf(root)], args: rawArgs };
  for (;;) {
    const commands = await resolved(found.command.subCommands ?? {});
    const [name, ...args] = found.args;
    // Own ones only: `constructor` is no command.
    const next = name !== undefined && Object.hasOwn(commands, name) ? commands[name] : undefined;
    if (next && name) found = { command: await resolved(next), names: [...found.names, name], args };
    else if (forHelp || Object.keys(commands).length === 0) return found;
    else
      throw notACommand(
        name,
        Object.keys(commands).filter((one) => !one.startsWith("_")),
      );
  }
}

function notACommand(word: string | undefined, commands: readonly string[]): GatewayError {
  if (word === undefined || word === "--")
    return usageError(`A command is missing: one of ${commands.join(", ")}.`);
  if (word.startsWith("-")) return usageError(`There is no option ${word} before a command.`);
  const hint = nearest(word, commands);
  return usageError(`There is no command "${word}"${hint ? `; did you mean "${hint}"?` : "."}`);
}

async function usageOf({ command, names }: Found): Promise<string> {
  const parent = names.length > 1 ? { meta: { name: names.slice(0, -1).join(" "), version } } : undefined;
  const usage = await renderUsage(command, parent);
  return hasColours(process.stdout) ? usage : stripVTControlCharacters(usage);
}

async function nameOf(command: CommandDef): Promise<string> {
  return (await resolved(command.meta ?? {})).name ?? "";
}

async function resolved<T>(value: Resolvable<T>): Promise<T> {
  return typeof value === "function" ? (value as () => T | Promise<T>)() : value;
}
