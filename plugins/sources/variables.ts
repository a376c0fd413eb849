import { basename, sep } from "node:path";
import { type Machine, variable } from "./machine.ts";

/** Where the variables of a text come from, and which ways of writing them its source knows. */
export interface VariableOptions {
  readonly machine: Machine;
  /** The source the text is from. */
  readonly source: string;
  /** Told the name of each variable that is not set; the text keeps it as written. */
  readonly onMissing: (name: string) => void;
}

// A `$` of a password must survive in the files of clients that take it as it is.
const knowsBareNames = new Set(["gemini-cli", "antigravity", "copilot", "crush"]);
const knowsBraceEnv = new Set(["opencode"]);

const PATTERN =
  /\$\$(?!\{)|\$\{\{\s*(?:secrets|env)\.(?<secret>\w+)\s*\}\}|\$\{(?<braced>[^{}]*)\}|\{env:(?<braceEnv>\w+)\}|\$(?<bare>[A-Za-z_]\w*)/g;

/** Fills in the variables of a text, once: what a variable holds is not looked at again. */
export function fillIn(written: string, options: VariableOptions): string {
  return written.replace(PATTERN, (...match) => {
    const whole = match[0] as string;
    const groups = match.at(-1) as Record<string, string | undefined>;
    const { secret, braced, braceEnv, bare } = groups;
    if (secret !== undefined) return fromEnv(secret, whole, options);
    if (braced !== undefined) return fromBraces(braced, whole, options);
    if (braceEnv !== undefined && knowsBraceEnv.has(options.source)) return fromEnv(braceEnv, whole, options);
    if (bare === undefined || !knowsBareNames.has(options.source)) return whole;
    // Even there, what is not written like a variable and is none belongs to the text, as these clients have it.
    return fromEnv(bare, whole, options, /[a-z]/.test(bare) ? whole : undefined);
  });
}

/** The variable in which a person gives what `${input:id}` asks for. */
export function inputVariable(id: string): string {
  return `TOOLPIPE_INPUT_${id.toUpperCase().replace(/\W/g, "_")}`;
}

function fromBraces(inner: string, whole: string, options: VariableOptions): string {
  const { machine } = options;
  const fixed: Readonly<Record<string, string>> = {
    workspaceFolder: machine.project,
    workspaceRoot: machine.project,
    workspaceFolderBasename: basename(machine.project),
    userHome: machine.home,
    pathSeparator: sep,
    "/": sep,
  };
  if (Object.hasOwn(fixed, inner)) return fixed[inner] as string;
  const [, prefix, name, otherwise] = /^(env:|input:)?([^:]+?)(?::-(.*))?$/s.exec(inner) ?? [];
  if (name === undefined) return whole;
  if (prefix === "input:") return fromEnv(inputVariable(name), whole, options, otherwise);
  // What else stands in braces is for a shell, or for a template of the server's own.
  return /^[A-Za-z_]\w*$/.test(name) ? fromEnv(name, whole, options, otherwise) : whole;
}

function fromEnv(name: string, whole: string, options: VariableOptions, otherwise?: string): string {
  const value = variable(options.machine, name) ?? otherwise;
  if (value !== undefined) return value;
  options.onMissing(name);
  return whole;
}
