import { homedir } from "node:os";
import { sep } from "node:path";
import { defineError, GatewayError } from "../../../core/errors.ts";

const COLORS: Readonly<Record<string, number>> = { "✓": 32, "✗": 31, "!": 33 };
const MARK = /^( *)([✓✗!])(?= )/gm;

/** Whether a stream is a terminal, and the user has not disabled colors. */
export function supportsColor({ isTTY }: { readonly isTTY?: boolean }): boolean {
  // Any value but an empty one counts, as https://no-color.org says.
  return isTTY === true && !process.env["NO_COLOR"] && process.env["TERM"] !== "dumb";
}

/** Colors the marks of lines, if the terminal supports it. */
export function colorMarks(text: string): string {
  if (!supportsColor(process.stdout)) return text;
  return text.replace(
    MARK,
    (_, space: string, mark: string) => `${space}\u001b[${COLORS[mark]}m${mark}\u001b[39m`,
  );
}

/** Prints the result of a command: one line of JSON if asked for, else formatted lines. */
export function output(asJson: boolean | undefined, value: object, text: () => string): void {
  process.stdout.write(asJson ? `${JSON.stringify(value)}\n` : colorMarks(text()));
}

/** Matches colors, positions and titles. */
const TERMINAL_SEQUENCE = /[^\P{Cc}\n\r\t](?:\[[0-?]*[ -/]*[@-~]|\][^\p{Cc}]*(?:[^\P{Cc}\n\r\t]\\?|$))/gu;

/** Removes control sequences as a whole, so that no "[31m" is left of one. */
export function removeSequences(text: string): string {
  return text.replace(TERMINAL_SEQUENCE, "");
}

/** Removes control sequences and marks that change the direction of letters from an untrusted string. */
export function toTerminalLines(text: string): string {
  return removeSequences(text)
    .replace(/\r\n?/g, "\n")
    .replace(/[^\P{Cc}\n\t]|[\u202a-\u202e\u2066-\u2069]/gu, "");
}

/** Converts an untrusted string to one line without invisible characters. */
export function toTerminalLine(text: string): string {
  return toTerminalLines(text).replace(/\s+/g, " ").replace(/\p{C}/gu, "").trim();
}

/**
 * Quotes a word for a command that the user pastes into a POSIX shell. Names of servers, tools and files come from
 * files that a stranger may have written: neither a substitution nor an escape sequence of theirs may run.
 */
export function quoteForShell(word: string): string {
  const clean = toTerminalLines(word).replace(/\s/g, " ").replace(/\p{C}/gu, "");
  return /^[\w@%+=:,./-]+$/.test(clean) && !clean.startsWith("-")
    ? clean
    : `'${clean.replaceAll("'", "'\\''")}'`;
}

/** `1 tool`, `2 tools`. */
export function formatCount(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** Formats a path; `~` stands for the home folder. */
export function formatPath(path: string, home: string = homedir()): string {
  return path.startsWith(`${home}${sep}`) ? `~${path.slice(home.length)}` : path;
}

const USAGE = defineError("USAGE", {
  spec: "CONFIGURATION_ERROR",
  exit: 1,
  description: "A command has wrong arguments; see its `--help`.",
});

/** Creates the error for wrong arguments of a command. */
export function usageError(message: string): GatewayError {
  return new GatewayError(USAGE, `${message} See --help.`);
}

/** Parses the values of a repeatable option, each a name and a value. */
export function parsePairs(
  typed: readonly string[],
  option: string,
  separator: "=" | ":",
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    parseRepeated(typed, option).map((value) => {
      const at = value.indexOf(separator);
      if (at < 1) throw usageError(`The option --${option} needs a name and a value: NAME${separator}VALUE.`);
      return [value.slice(0, at).trim(), value.slice(at + 1).trim()];
    }),
  );
}

/** Returns the values of an option that may be repeated. */
export function parseRepeated(typed: readonly string[], option: string): readonly string[] {
  const end = typed.indexOf("--");
  const own = end === -1 ? typed : typed.slice(0, end);
  return own.flatMap((word, at) => {
    if (word === `--${option}`) return [own[at + 1] ?? ""];
    return word.startsWith(`--${option}=`) ? [word.slice(option.length + 3)] : [];
  });
}

const WIDTH = 20;
/** Fits beside the bar on the narrowest terminal: a wrapped line could not be removed. */
const LONGEST_NAME = 30;

/** Progress bar on a terminal. Pipes get no output. */
interface ProgressLine {
  show(done: number, total: number, what: string): void;
  clear(): void;
}

/** Formats a progress bar. */
export function formatProgress(done: number, total: number, what: string): string {
  const full = total === 0 ? WIDTH : Math.round((Math.min(done, total) / total) * WIDTH);
  const name = toTerminalLine(what).slice(0, LONGEST_NAME);
  return `[${"█".repeat(full)}${"░".repeat(WIDTH - full)}] ${done}/${total} ${name}`.trimEnd();
}

/** Creates a progress bar on standard error. */
export function createProgressBar(
  stream: { readonly isTTY?: boolean; write(text: string): unknown } = process.stderr,
): ProgressLine {
  let isShown = false;
  const clear = (): void => {
    if (isShown) stream.write("\r\u001b[2K");
    isShown = false;
  };
  return {
    show(done, total, what) {
      if (!stream.isTTY) return;
      stream.write(`\r\u001b[2K${formatProgress(done, total, what)}`);
      isShown = true;
    },
    clear,
  };
}
