import { access } from "node:fs/promises";
import { basename, resolve } from "node:path";
import {
  type Command,
  type CommandArg,
  type CommandArgs,
  defineCommand,
} from "../../core/services/command.ts";
import { otherFiles } from "./anygpt-config.ts";
import { findCommand, type Program, visible } from "./main.ts";
import { type Names, readNames } from "./names.ts";

/** What a person would have to quote is not offered: a stranger named the tools, and a shell reads the answer. */
const PLAIN = /^(?:--)?[\w@%+][\w@%+:,./-]*$/;

/** Prints the words that fit what was typed so far, one a line. For shells: it asks no server, and never fails. */
export const complete: Command = defineCommand({
  many: true,
  async run(_args, { typed }) {
    try {
      const words = typed.slice(typed.indexOf("--") + 1);
      const found = await fitting(words);
      process.stdout.write(found.map((word) => `${word}\n`).join(""));
    } catch {
      // A person who pressed a key sees no error, only no words.
    }
  },
});

/** The words that the last one could become. The first one is the name of the program. */
async function fitting([program = "", ...typed]: readonly string[]): Promise<string[]> {
  const { anygpt, toolpipe } = await import("./commands.ts");
  const isAnygpt = basename(program).startsWith("anygpt");
  const [words, current, prefix] = split(typed);
  const candidates = await candidatesFor(isAnygpt ? anygpt : toolpipe, words, current);
  return candidates
    .filter((word) => word.startsWith(current) && word !== "" && PLAIN.test(word))
    .map((word) => `${prefix}${word}`);
}

/**
 * The finished words, the one that is being typed, and what of it stays as it is. Where an option and its value
 * are one word they become two; bash makes three of them.
 */
function split(typed: readonly string[]): [words: string[], current: string, prefix: string] {
  const words = typed.flatMap((word) => {
    const [, option, value] = /^(--[\w-]+)=(.*)$/s.exec(word) ?? [];
    return option === undefined ? [word] : [option, value ?? ""];
  });
  const last = words.pop()?.trim() ?? "";
  const isOne = /^--[\w-]+=/.test(typed.at(-1) ?? "");
  return [words.filter((word) => word !== "="), last === "=" ? "" : last, isOne ? `${words.at(-1)}=` : ""];
}

async function candidatesFor(program: Program, words: readonly string[], current: string): Promise<string[]> {
  const { command, commands, args } = await findCommand(program, words);
  if (command) return argumentsFor(command.args ?? {}, args, current);
  return commands && args.length === 0 ? visible(program, commands) : [];
}

async function argumentsFor(args: CommandArgs, words: readonly string[], current: string): Promise<string[]> {
  const given = new Map<string, string>();
  const positionals: string[] = [];
  let open: string | undefined;
  for (const word of words) {
    if (open !== undefined) given.set(open, word);
    else if (!word.startsWith("-")) positionals.push(word);
    else given.set(word.replace(/^--/, ""), "");
    const name = word.replace(/^--/, "");
    open = open === undefined && word.startsWith("--") && args[name]?.type === "string" ? name : undefined;
  }
  if (open !== undefined) return valuesOf(open, { given, positionals: [] });
  if (current.startsWith("-")) return optionsOf(args).filter((option) => !given.has(option.slice(2)));
  const names = Object.entries(args).flatMap(([name, arg]) => (arg.type === "positional" ? [name] : []));
  const name = names[positionals.length];
  return name === undefined ? [] : valuesOf(name, { given, positionals }, args[name]);
}

function optionsOf(args: CommandArgs): string[] {
  return Object.entries(args).flatMap(([name, arg]) => {
    if (arg.type === "positional") return [];
    return arg.type === "boolean" && arg.default === true ? [`--no-${name}`] : [`--${name}`];
  });
}

interface Typed {
  readonly given: ReadonlyMap<string, string>;
  readonly positionals: readonly string[];
}

/** What stands for an argument of this name. Of files, the shell knows more. */
async function valuesOf(name: string, { given, positionals }: Typed, arg?: CommandArg): Promise<string[]> {
  if (name === "preset") return ["anygpt", "gateway", "passthrough"];
  if (name === "shell") return arg?.description?.split(", ") ?? [];
  if (name !== "server" && name !== "tool" && name !== "name") return [];
  const names = await namesFor(given.get("config"));
  const servers = Object.keys(names);
  if (name === "server") return servers;
  const [server = ""] = positionals;
  if (name === "tool") return Object.hasOwn(names, server) ? [...(names[server] ?? [])] : [];
  return servers.flatMap((one) => [one, ...(names[one] ?? []).map((tool) => `${one}:${tool}`)]);
}

/** The names that commands came to know with the config that would be used here. */
async function namesFor(config: string | undefined): Promise<Names> {
  const cwd = process.cwd();
  for (const owner of config ? [resolve(config)] : [...(await configsIn(cwd)), cwd]) {
    const names = await readNames(owner);
    if (names) return names;
  }
  return {};
}

/** Configs that could be meant. They are not read: some are programs, and nobody asked to run one. */
async function configsIn(cwd: string): Promise<string[]> {
  const endings = ["ts", "mts", "js", "mjs", "json", "yaml"];
  const files = [...endings.map((ending) => resolve(cwd, `toolpipe.config.${ending}`)), ...otherFiles(cwd)];
  const there = await Promise.all(
    files.map((file) =>
      access(file).then(
        () => [file],
        () => [],
      ),
    ),
  );
  return there.flat();
}
