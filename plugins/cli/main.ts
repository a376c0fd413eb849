import { stripVTControlCharacters } from "node:util";
import { type ArgsDef, type CommandDef, defineCommand, renderUsage, runCommand } from "citty";
import { errorKinds, GatewayError } from "../../core/errors.ts";
import { nearest } from "../../core/nearest.ts";
import type { Command, CommandContext, CommandTable } from "../../core/services/command.ts";
import { version } from "../../core/version.ts";
import { supportsColor, usageError } from "../lib/terminal/output.ts";

/** A program and its commands. */
export interface Program {
  readonly name: string;
  readonly description: string;
  readonly commands: CommandTable;
  /** Commands that help and completion do not name. */
  readonly hidden?: readonly string[];
}

/** A command, or a group of commands, that words of the command line lead to. */
export interface FoundCommand {
  readonly description: string;
  /** Words that lead to it, beginning with the program. */
  readonly names: readonly string[];
  readonly args: readonly string[];
  readonly command?: Command;
  readonly commands?: CommandTable;
}

/** Runs a command and returns its exit code. A failure is one line on standard error. */
export async function main(program: Program, rawArgs: string[]): Promise<number> {
  const ownArgs = rawArgs.includes("--") ? rawArgs.slice(0, rawArgs.indexOf("--")) : rawArgs;
  try {
    if (ownArgs[0] === "--version" || ownArgs[0] === "-v") {
      process.stdout.write(`${version}\n`);
      return 0;
    }
    const wantsHelp = rawArgs.length === 0 || ownArgs.some((arg) => arg === "--help" || arg === "-h");
    const { commands, problem } = await loadPluginCommands(program, ownArgs);
    const found = await findCommand(program, rawArgs, commands);
    if (wantsHelp) {
      process.stdout.write(`${await renderHelp(program, found)}\n`);
      return 0;
    }
    if (!found.command)
      throw createCommandError(found.args[0], listVisible(program, found.commands ?? {}), problem);
    return await run(found.command, found.args);
  } catch (thrown) {
    const error =
      thrown instanceof Error && thrown.name === "CLIError"
        ? usageError(`${stripVTControlCharacters(thrown.message)}.`)
        : thrown;
    return fail(error, ownArgs.includes("--trace"));
  }
}

/** Prints an error and returns its exit code. A plugin may throw anything; where it did is for those who debug it. */
async function fail(thrown: unknown, isTraced: boolean): Promise<number> {
  const error = GatewayError.from(thrown, "The command failed unexpectedly.");
  const hint = GatewayError.is(thrown) ? "" : "\nSet LOG_LEVEL=debug to see where it failed.";
  process.stderr.write(`${error.message}${formatPluginMessage(error)}${hint}\n`);
  if (error.cause !== undefined && (isTraced || process.env["LOG_LEVEL"] === "debug")) {
    const { describeFailure } = await import("../trace.ts");
    process.stderr.write(`${describeFailure(error).slice(1).join("\n")}\n`);
  }
  return error.kind.exit;
}

/** Follows the words of a command line to a command, and loads only that one. */
export async function findCommand(
  program: Program,
  words: readonly string[],
  more: CommandTable = {},
): Promise<FoundCommand> {
  let found: FoundCommand = {
    description: program.description,
    names: [program.name],
    args: words,
    commands: { ...program.commands, ...more },
  };
  for (;;) {
    const [name, ...args] = found.args;
    // Own keys only: `constructor` is not a command.
    const entry =
      name !== undefined && found.commands && Object.hasOwn(found.commands, name)
        ? found.commands[name]
        : undefined;
    if (!entry || name === undefined) return found;
    const names = [...found.names, name];
    const { description } = entry;
    found =
      "commands" in entry
        ? { description, names, args, commands: entry.commands }
        : { description, names, args, command: toCommand(name, await entry.load()) };
  }
}

/** Takes a command, or a module that exports one as `command`. */
function toCommand(name: string, loaded: Command | { readonly command: Command }): Command {
  const command = "command" in loaded ? loaded.command : loaded;
  if (typeof command?.run === "function") return command;
  throw new GatewayError(
    "PLUGIN_INVALID",
    `The command "${name}" cannot be run: expected its module to export "command" with a function "run".`,
  );
}

/** Lists the names of commands that are not hidden. */
export function listVisible({ hidden = [] }: Program, commands: CommandTable): string[] {
  return Object.keys(commands).filter((name) => !hidden.includes(name));
}

/** Loads the commands of the plugins in the config if the first word is no command of the program. */
async function loadPluginCommands(
  program: Program,
  args: readonly string[],
): Promise<{ readonly commands: CommandTable; readonly problem?: GatewayError }> {
  const [word] = args;
  const none = { commands: {} };
  if (word === undefined || word.startsWith("-") || Object.hasOwn(program.commands, word)) return none;
  if (program.name !== "toolpipe" || !/^[a-z][\w-]*$/.test(word)) return none;
  const { readPluginCommands } = await import("./context.ts");
  const choice = { config: readOption(args, "config"), preset: readOption(args, "preset") };
  try {
    return { commands: await readPluginCommands(choice) };
  } catch (thrown) {
    const problem = GatewayError.from(thrown, "The config cannot be read.");
    if (problem.data["event"] === "config-not-approved") throw problem;
    // The word may be mistyped, or a command of a plugin in the broken config.
    return { ...none, problem };
  }
}

/** Reads the value of an option before the command is known. */
function readOption(args: readonly string[], name: string): string | undefined {
  const index = args.findIndex((arg) => arg === `--${name}` || arg.startsWith(`--${name}=`));
  const arg = args[index];
  return arg?.includes("=") ? arg.slice(arg.indexOf("=") + 1) : index < 0 ? undefined : args[index + 1];
}

async function run(command: Command, args: readonly string[]): Promise<number> {
  // Loaded on first use, so that `--help` loads no config code.
  const context: Omit<CommandContext, "typed"> = {
    open: async (...given) => (await import("./context.ts")).openGateway(...given),
    load: async (choice) => (await import("./context.ts")).loadCliConfig(choice),
  };
  const known = command.args ?? {};
  const definition = defineCommand({
    args: known as ArgsDef,
    async run({ args: parsed, rawArgs }) {
      checkArgs(parsed, known, command.many ?? false);
      return command.run(parsed, { ...context, typed: rawArgs });
    },
  });
  const { result } = await runCommand(definition, { rawArgs: args.map(markOmitted) });
  return typeof result === "number" ? result : 0;
}

/** Refuses unknown options: a mistyped one must not be ignored. */
function checkArgs(
  args: { readonly _: readonly string[] },
  known: NonNullable<Command["args"]>,
  many: boolean,
): void {
  // The parser gives `dry-run` under the name `dryRun` too.
  const names = new Set(Object.keys(known).flatMap((name) => [name, toCamelCase(name)]));
  for (const name of Object.keys(args)) {
    if (name === "_" || names.has(name)) continue;
    const hint = nearest(name, Object.keys(known));
    throw usageError(`There is no option --${name}${hint ? `; did you mean --${hint}?` : "."}`);
  }
  if (many) return;
  const positionals = Object.values(known).filter((arg) => arg.type === "positional").length;
  const extra = args._[positionals];
  if (extra !== undefined) throw usageError(`There is one argument too many: "${extra}".`);
}

function toCamelCase(name: string): string {
  return name.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** Marks an omitted value of `--http`: the parser would take the next option as its value. */
function markOmitted(arg: string, index: number, all: readonly string[]): string {
  return arg === "--http" && all[index + 1]?.startsWith("-") ? "--http=" : arg;
}

/** Adds the message of what a plugin or a command threw, since the user configured it. */
function formatPluginMessage({ code, cause }: GatewayError): string {
  const hasOther = code === errorKinds.PLUGIN_FAILED.code || code === errorKinds.INTERNAL.code;
  return hasOther && cause instanceof Error ? ` It says: ${cause.message.split("\n", 1)[0]}` : "";
}

/**
 * Runs a program with the arguments of the process and sets the exit code. Without arguments, a client that starts it
 * is served, and a user at a terminal sees the help.
 */
export async function runAsProcess(program: Program, served: readonly string[]): Promise<void> {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    // A reader that stops early, such as `head`, is not a failure.
    if (error.code !== "EPIPE") throw error;
  });
  for (const [signal, code] of Object.entries({ SIGINT: 130, SIGTERM: 143 })) {
    process.on(signal, () => {
      // A signal alone runs no exit listeners, which end the servers that were started.
      if (process.listenerCount(signal) === 1) process.exit(code);
    });
  }
  const args = process.argv.slice(2);
  const isClient = args.length === 0 && !process.stdin.isTTY;
  process.exitCode = await main(program, isClient ? [...served] : args);
}

function createCommandError(
  word: string | undefined,
  commands: readonly string[],
  problem: GatewayError | undefined,
): GatewayError {
  if (word === undefined || word === "--")
    return usageError(`A command is missing: one of ${commands.join(", ")}.`);
  if (word.startsWith("-")) return usageError(`There is no option ${word} before a command.`);
  const hint = nearest(word, commands);
  const note = problem
    ? ` Commands of plugins are not known, because the config cannot be read: ${problem.message.replace(/\.?$/, ".")}`
    : "";
  return usageError(`There is no command "${word}"${hint ? `; did you mean "${hint}"?` : "."}${note}`);
}

const MORE_COMMANDS = "\nPlugins that a config names can bring more commands.\n";

async function renderHelp(program: Program, found: FoundCommand): Promise<string> {
  const { names, description, command, commands = {} } = found;
  // The usage shows only the descriptions of commands.
  const stubs = listVisible(program, commands).map((name): [string, CommandDef] => [
    name,
    { meta: { name, description: commands[name]?.description ?? "" } },
  ]);
  const definition: CommandDef = {
    meta: { name: names.at(-1) ?? "", version, description },
    ...(command ? { args: (command.args ?? {}) as ArgsDef } : { subCommands: Object.fromEntries(stubs) }),
  };
  const parent = names.length > 1 ? { meta: { name: names.slice(0, -1).join(" "), version } } : undefined;
  // Help reads no config, so these commands have no names here.
  const more = program.name === "toolpipe" && !parent && !command ? MORE_COMMANDS : "";
  const usage = `${await renderUsage(definition, parent)}${more}`;
  return supportsColor(process.stdout) ? usage : stripVTControlCharacters(usage);
}
