import type { Gateway } from "../gateway.ts";
import type { LoadedConfig } from "../load-config.ts";
import type { Plugin } from "../plugin.ts";

/** One option or positional argument of a command. */
export interface CommandArg {
  readonly type: "string" | "boolean" | "positional";
  readonly description: string;
  /** Whether a positional argument must be given; true by default. */
  readonly required?: boolean;
  readonly default?: string | boolean;
  /** Placeholder of the value in the help: `FILE`. */
  readonly valueHint?: string;
}

/** The arguments of a command by name. */
export type CommandArgs = Readonly<Record<string, CommandArg>>;

type ParsedArg<Arg extends CommandArg> = Arg["type"] extends "boolean"
  ? Arg extends { readonly default: boolean }
    ? boolean
    : boolean | undefined
  : Arg extends { readonly default: string }
    ? string
    : Arg extends { readonly type: "positional"; readonly required: true }
      ? string
      : string | undefined;

/** Arguments as a command gets them; `_` holds all positional ones. */
export type ParsedArgs<Args extends CommandArgs> = {
  readonly [Name in keyof Args]: ParsedArg<Args[Name]>;
} & { readonly _: readonly string[] };

/** The options that choose a config: those of {@link configArgs}. */
export interface ConfigChoice {
  readonly config?: string | undefined;
  readonly preset?: string | undefined;
  /** Whether the stages of calls, and the causes of failures, are printed to standard error. */
  readonly trace?: boolean | undefined;
  /** Whether to search for a config file if none is named; true by default. */
  readonly look?: boolean;
  /** Whether a config that is found needs no approval: for a program, which the user started in that folder. */
  readonly isTrusted?: boolean;
}

/** Options of {@link CommandContext.open}. */
export interface OpenOptions {
  /** Plugins that the command needs, built-in ones by name; those of the config are not added twice. */
  readonly with?: readonly (Plugin | string)[];
  /** Whether the gateway has these plugins alone; then no config is read. */
  readonly only?: boolean;
  /** Changes the loaded config before the gateway is created. */
  readonly adjust?: (config: LoadedConfig) => LoadedConfig;
}

/** Context of a command. A command composes no gateway itself. */
export interface CommandContext {
  /** The arguments as typed; only this has both values of a repeated option. */
  readonly typed: readonly string[];
  /** Opens the gateway of the chosen config for `use`, and closes it in any case. */
  open<T>(
    choice: ConfigChoice,
    use: (gateway: Gateway, config: LoadedConfig) => Promise<T>,
    options?: OpenOptions,
  ): Promise<T>;
  /** Loads the chosen config without opening a gateway. */
  load(choice: ConfigChoice): Promise<LoadedConfig>;
}

/** One command: its arguments and its action. */
export interface Command {
  readonly args?: CommandArgs;
  /** Whether the last positional argument may be given several times. */
  readonly many?: boolean;
  /** Runs the command. Returns the exit code if it is not 0. */
  run(
    args: Readonly<Record<string, unknown>> & { readonly _: readonly string[] },
    context: CommandContext,
  ): Promise<number | void>;
}

/** A command in a table: loaded when it runs, by itself or as `command` of its module, or a group of commands. */
export type CommandEntry =
  | { readonly description: string; load(): Promise<Command | { readonly command: Command }> }
  | { readonly description: string; readonly commands: CommandTable };

/** Commands by name. The descriptions are all that `--help` needs, so it loads no command. */
export interface CommandTable {
  readonly [name: string]: CommandEntry;
}

/** The options of every command that reads a config. */
export const configArgs: {
  readonly config: { readonly type: "string"; readonly description: string; readonly valueHint: string };
  readonly preset: { readonly type: "string"; readonly description: string; readonly valueHint: string };
  readonly trace: { readonly type: "boolean"; readonly description: string };
} = {
  config: { type: "string", description: "The config file to use", valueHint: "FILE" },
  preset: {
    type: "string",
    description: "The preset to use: anygpt, gateway, passthrough, or a path",
    valueHint: "NAME",
  },
  trace: {
    type: "boolean",
    description: "Print the stages of calls, and the causes of failures, to standard error",
  },
};

/**
 * Defines a command with typed arguments.
 *
 * @example
 * ```ts
 * import { configArgs, defineCommand } from "toolpipe";
 *
 * export const count = defineCommand({
 *   args: { server: { type: "positional", required: true, description: "The server" }, ...configArgs },
 *   run: (given, context) =>
 *     context.open(given, async ({ catalog }) => {
 *       process.stdout.write(`${catalog.tools(given.server).length}\n`);
 *     }),
 * });
 * ```
 */
export function defineCommand<const Args extends CommandArgs>(definition: {
  readonly args?: Args;
  readonly many?: boolean;
  run(args: ParsedArgs<Args>, context: CommandContext): Promise<number | void>;
}): Command {
  return definition as unknown as Command;
}
