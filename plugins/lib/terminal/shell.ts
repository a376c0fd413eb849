import { toTerminalLines } from "./output.ts";

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
