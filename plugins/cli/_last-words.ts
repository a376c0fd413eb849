import { masked } from "../_masked.ts";
import { redactor } from "../logs/redact.ts";
import { fillConnection } from "../sources/expand.ts";
import { type Connection, expandConnection, type ServerConfig, thisMachine } from "../sources/mod.ts";
import { shownLine, shownLines } from "./_shown.ts";

/** What every program of its kind prints at its end, and says nothing. */
const NOISE = /^\s*(at |Node\.js v\d|File ".*", line|\^+\s*$|[{}[\]()]*\s*$|npm (error|ERR!) A complete log)/;
const TELLING =
  /error|exception|cannot|could not|can't|missing|required|must|invalid|fail|denied|not found|no such|usage/i;
/** A shorter value is a word that may stand anywhere. */
const SHORTEST_SECRET = 6;
const LONGEST = 300;

/** The line of a dead server's error output that says most, as a person may see it; nothing if there is none. */
export async function lastWords(cause: unknown, config: ServerConfig): Promise<string | undefined> {
  if (!(cause instanceof Error) || !cause.message.startsWith("Its error output ends with:\n")) return;
  const [, ...lines] = shownLines(cause.message).split("\n");
  const words = lines.filter((line) => !NOISE.test(line) && line.trim() !== "");
  const line = words.findLast((one) => TELLING.test(one)) ?? words.at(-1);
  if (line === undefined) return;
  const machine = thisMachine();
  // With what its envFile holds, as long as that can be read.
  const connection = await expandConnection(config, machine).catch(
    () => fillConnection(config, machine).connection,
  );
  return shownLine(withoutSecrets(line, connection)).slice(0, LONGEST);
}

/** Without what the definition gave it to keep, and without what looks like a secret. */
function withoutSecrets(line: string, connection: Connection): string {
  const given =
    connection.type === "stdio"
      ? [...Object.values(connection.env), ...connection.args.flatMap(maybeSecret)]
      : Object.values(connection.headers);
  return masked(redactor(given.filter((value) => value.length >= SHORTEST_SECRET))(line));
}

/** An argument that is no path and no plain word; of an option, its value. */
function maybeSecret(arg: string): string[] {
  const value = arg.replace(/^--?[\w.-]+=/, "");
  return /\d/.test(value) && !/^-|[\\/]/.test(value) ? [value] : [];
}
