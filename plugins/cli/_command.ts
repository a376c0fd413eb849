import { type ArgsDef, type CommandDef, defineCommand, type ParsedArgs } from "citty";
import { nearest } from "../../core/nearest.ts";
import { usageError } from "./_usage.ts";

/** A command that refuses options it does not have: a mistyped one must not be passed over. */
export function command<const Args extends ArgsDef>(definition: {
  readonly name: string;
  readonly description: string;
  readonly args?: Args;
  /** Whether its last argument may be given several times; all of them are under `_`. */
  readonly many?: boolean;
  /** Returns the exit code, if it is not 0. Of an option that is given twice, only what was typed has both. */
  run(args: ParsedArgs<Args>, typed: readonly string[]): Promise<number | void>;
}): CommandDef {
  const { name, description, many = false, run } = definition;
  const known = definition.args ?? ({} as Args);
  const made = defineCommand({
    meta: { name, description },
    args: known,
    async run({ args, rawArgs }) {
      checkArgs(args, known, many);
      return run(args, rawArgs);
    },
  });
  return made as unknown as CommandDef;
}

function checkArgs(args: { readonly _: readonly string[] }, known: ArgsDef, many: boolean): void {
  // The parser gives `dry-run` under the name `dryRun` too.
  const names = new Set(Object.keys(known).flatMap((name) => [name, camelCase(name)]));
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

function camelCase(name: string): string {
  return name.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
