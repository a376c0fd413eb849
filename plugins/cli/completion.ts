import { access } from "node:fs/promises";
import { basename, resolve } from "node:path";
import { nearest } from "../../core/nearest.ts";
import { type CommandArg, type CommandArgs, defineCommand } from "../../core/services/command.ts";
import { usageError } from "../lib/terminal/output.ts";
import { type KnownNames, readNames } from "./completion-names.ts";
import { otherFiles } from "./config-files.ts";
import { findCommand, listVisible, type Program } from "./main.ts";

/** Completion scripts by shell. Errors are not shown to the user. */
const scripts: Readonly<Record<string, string>> = {
  bash: `# For every new shell: toolpipe completion bash >> ~/.bashrc
_toolpipe() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    COMPREPLY+=("$line")
  done < <(toolpipe __complete -- "\${COMP_WORDS[@]:0:COMP_CWORD+1}" 2>/dev/null)
}
complete -o default -F _toolpipe toolpipe anygpt
`,
  zsh: `#compdef toolpipe anygpt
# For every new shell: toolpipe completion zsh >> ~/.zshrc, after compinit
_toolpipe() {
  local -a found
  found=(\${(f)"$(toolpipe __complete -- "\${(@)words[1,CURRENT]}" 2>/dev/null)"})
  if (( \${#found} )); then
    compadd -a found
  else
    _files
  fi
}
compdef _toolpipe toolpipe anygpt
`,
  fish: `# For every new shell: toolpipe completion fish > ~/.config/fish/completions/toolpipe.fish
function __toolpipe_complete
  set -l current (commandline -ct)
  toolpipe __complete -- (commandline -opc) "$current" 2>/dev/null
end
complete -c toolpipe -a '(__toolpipe_complete)'
complete -c anygpt -a '(__toolpipe_complete)'
`,
  // Older versions drop an empty argument, so a space is passed instead.
  powershell: `# For every new shell: toolpipe completion powershell >> $PROFILE
Register-ArgumentCompleter -Native -CommandName toolpipe, anygpt -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $words = @($commandAst.CommandElements | ForEach-Object { $_.ToString() })
  if ($wordToComplete -eq '') { $words += ' ' }
  toolpipe __complete -- @words 2>$null | ForEach-Object {
    [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
  }
}
`,
};

const shells = Object.keys(scripts);

/** Prints a script that makes a shell complete commands, options, servers and tools. */
export const command = defineCommand({
  args: { shell: { type: "positional", required: true, description: shells.join(", ") } },
  async run({ shell }) {
    const script = Object.hasOwn(scripts, shell) ? scripts[shell] : undefined;
    if (script === undefined) {
      const hint = nearest(shell, shells);
      throw usageError(
        `There is no completion script for "${shell}"${hint ? `; did you mean "${hint}"?` : `. The shells are ${shells.join(", ")}.`}`,
      );
    }
    process.stdout.write(script);
  },
});

/** Words that need no quotes. Others are not offered: servers choose the names of tools, and a shell reads the answer. */
const PLAIN = /^(?:--)?[\w@%+][\w@%+:,./-]*$/;

/** Prints the completions of the typed words for a shell, one a line. It connects to no server and never fails. */
export const completeCommand = defineCommand({
  many: true,
  async run(_args, { typed }) {
    try {
      const words = typed.slice(typed.indexOf("--") + 1);
      const found = await complete(words);
      process.stdout.write(found.map((word) => `${word}\n`).join(""));
    } catch {
      // An error would appear in the middle of the typed line.
    }
  },
});

/** Lists the completions of the last word. The first word is the program. */
async function complete([program = "", ...typed]: readonly string[]): Promise<string[]> {
  const { anygptProgram, toolpipeProgram } = await import("./commands.ts");
  const isAnygpt = basename(program).startsWith("anygpt");
  const [words, current, prefix] = splitWords(typed);
  const candidates = await findCandidates(isAnygpt ? anygptProgram : toolpipeProgram, words, current);
  return candidates
    .filter((word) => word.startsWith(current) && word !== "" && PLAIN.test(word))
    .map((word) => `${prefix}${word}`);
}

/**
 * Splits the typed words into finished ones, the current one and its fixed prefix. `--option=value` becomes two words;
 * bash makes three of it.
 */
function splitWords(typed: readonly string[]): [words: string[], current: string, prefix: string] {
  const words = typed.flatMap((word) => {
    const [, option, value] = /^(--[\w-]+)=(.*)$/s.exec(word) ?? [];
    return option === undefined ? [word] : [option, value ?? ""];
  });
  const last = words.pop()?.trim() ?? "";
  const isOne = /^--[\w-]+=/.test(typed.at(-1) ?? "");
  return [words.filter((word) => word !== "="), last === "=" ? "" : last, isOne ? `${words.at(-1)}=` : ""];
}

async function findCandidates(
  program: Program,
  words: readonly string[],
  current: string,
): Promise<string[]> {
  const { command, commands, args } = await findCommand(program, words);
  if (command) return findArguments(command.args ?? {}, args, current);
  return commands && args.length === 0 ? listVisible(program, commands) : [];
}

async function findArguments(
  args: CommandArgs,
  words: readonly string[],
  current: string,
): Promise<string[]> {
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
  if (open !== undefined) return findValues(open, { given, positionals: [] });
  if (current.startsWith("-")) return listOptionNames(args).filter((option) => !given.has(option.slice(2)));
  const names = Object.entries(args).flatMap(([name, arg]) => (arg.type === "positional" ? [name] : []));
  const name = names[positionals.length];
  return name === undefined ? [] : findValues(name, { given, positionals }, args[name]);
}

function listOptionNames(args: CommandArgs): string[] {
  return Object.entries(args).flatMap(([name, arg]) => {
    if (arg.type === "positional") return [];
    return arg.type === "boolean" && arg.default === true ? [`--no-${name}`] : [`--${name}`];
  });
}

interface Typed {
  readonly given: ReadonlyMap<string, string>;
  readonly positionals: readonly string[];
}

/** Lists the values of an argument by its name. Files are completed by the shell. */
async function findValues(name: string, { given, positionals }: Typed, arg?: CommandArg): Promise<string[]> {
  if (name === "preset") return ["anygpt", "gateway", "passthrough"];
  if (name === "shell") return arg?.description?.split(", ") ?? [];
  if (name !== "server" && name !== "tool" && name !== "name") return [];
  const names = await findNames(given.get("config"));
  const servers = Object.keys(names);
  if (name === "server") return servers;
  const [server = ""] = positionals;
  if (name === "tool") return Object.hasOwn(names, server) ? [...(names[server] ?? [])] : [];
  return servers.flatMap((one) => [one, ...(names[one] ?? []).map((tool) => `${one}:${tool}`)]);
}

/** Reads the names that commands stored for the config in use. */
async function findNames(config: string | undefined): Promise<KnownNames> {
  const cwd = process.cwd();
  for (const owner of config ? [resolve(config)] : [...(await findConfigs(cwd)), cwd]) {
    const names = await readNames(owner);
    if (names) return names;
  }
  return {};
}

/** Lists config files that may be in use, without reading them: some are programs. */
async function findConfigs(cwd: string): Promise<string[]> {
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
