import { homedir } from "node:os";
import { sep } from "node:path";
import { defineError, GatewayError } from "../../../core/errors.ts";

/** The marks that lines begin with, and how a terminal shows each. */
const COLOURS: Readonly<Record<string, number>> = { "✓": 32, "✗": 31, "!": 33 };
const MARK = /^( *)([✓✗!])(?= )/gm;

/** Whether colours are wanted there: a person reads it, and did not ask to be spared them. */
export function hasColours({ isTTY }: { readonly isTTY?: boolean }): boolean {
  // Any value but an empty one counts, as https://no-color.org says.
  return isTTY === true && !process.env["NO_COLOR"] && process.env["TERM"] !== "dumb";
}

/** The same text with its marks in colour, where colours are wanted. */
export function coloured(text: string): string {
  if (!hasColours(process.stdout)) return text;
  return text.replace(
    MARK,
    (_, space: string, mark: string) => `${space}\u001b[${COLOURS[mark]}m${mark}\u001b[39m`,
  );
}

/** Prints what a command has found: as one line of JSON where that was asked for, else as text. */
export function output(asJson: boolean | undefined, value: object, text: () => string): void {
  process.stdout.write(asJson ? `${JSON.stringify(value)}\n` : coloured(text()));
}

/** Colours, positions, titles. Whole, so that no "[31m" is left of one. */
const TERMINAL_SEQUENCE = /[^\P{Cc}\n\r\t](?:\[[0-?]*[ -/]*[@-~]|\][^\p{Cc}]*(?:[^\P{Cc}\n\r\t]\\?|$))/gu;

/** A stranger's text as lines on a terminal: nothing in it steers the terminal, or turns the order of letters. */
export function shownLines(text: string): string {
  return text
    .replace(TERMINAL_SEQUENCE, "")
    .replace(/\r\n?/g, "\n")
    .replace(/[^\P{Cc}\n\t]|[\u202a-\u202e\u2066-\u2069]/gu, "");
}

/** The same as one line, without anything that cannot be seen. */
export function shownLine(text: string): string {
  return shownLines(text).replace(/\s+/g, " ").replace(/\p{C}/gu, "").trim();
}

/** `1 tool`, `2 tools`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** A path as a person writes it: in their home folder, from there. */
export function shownPath(path: string, home: string = homedir()): string {
  return path.startsWith(`${home}${sep}`) ? `~${path.slice(home.length)}` : path;
}

const USAGE = defineError("USAGE", { spec: "CONFIGURATION_ERROR", exit: 1 });

/** An error of whoever typed the command. */
export function usageError(message: string): GatewayError {
  return new GatewayError(USAGE, `${message} See --help.`);
}

/** Parses the values of a repeatable option, each a name and a value. */
export function parsePairs(
  typed: readonly string[],
  option: string,
  separator: "=" | ":",
): Readonly<Record<string, string>> {
  const end = typed.indexOf("--");
  const own = end === -1 ? typed : typed.slice(0, end);
  const values = own.flatMap((word, at) => {
    if (word === `--${option}`) return [own[at + 1] ?? ""];
    return word.startsWith(`--${option}=`) ? [word.slice(option.length + 3)] : [];
  });
  return Object.fromEntries(
    values.map((value) => {
      const at = value.indexOf(separator);
      if (at < 1) throw usageError(`The option --${option} needs a name and a value: NAME${separator}VALUE.`);
      return [value.slice(0, at).trim(), value.slice(at + 1).trim()];
    }),
  );
}

const WIDTH = 20;
/** Fits beside the bar on a line of the narrowest terminal: one that wraps could not be taken away again. */
const LONGEST_NAME = 30;

/** Shows a person at a terminal how far something has come. Pipes see nothing of it. */
export interface Progress {
  show(done: number, total: number, what: string): void;
  /** Takes it away. */
  clear(): void;
}

/** How far something has come, as text. */
export function progressText(done: number, total: number, what: string): string {
  const full = total === 0 ? WIDTH : Math.round((Math.min(done, total) / total) * WIDTH);
  const name = shownLine(what).slice(0, LONGEST_NAME);
  return `[${"█".repeat(full)}${"░".repeat(WIDTH - full)}] ${done}/${total} ${name}`.trimEnd();
}

/** A bar on standard error. */
export function progressBar(
  stream: { readonly isTTY?: boolean; write(text: string): unknown } = process.stderr,
): Progress {
  let isShown = false;
  const clear = (): void => {
    if (isShown) stream.write("\r\u001b[2K");
    isShown = false;
  };
  return {
    show(done, total, what) {
      if (!stream.isTTY) return;
      stream.write(`\r\u001b[2K${progressText(done, total, what)}`);
      isShown = true;
    },
    clear,
  };
}
