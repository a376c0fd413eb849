import { homedir } from "node:os";
import { sep } from "node:path";

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
