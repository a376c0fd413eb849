import { existsSync } from "node:fs";
import type { GatewayError } from "../../core/mod.ts";
import type { ServerStatus } from "../../core/services/servers.ts";
import type { Connection, ServerConfig } from "../../core/services/sources.ts";
import { masked, redactor, shownCommand, shownUrl } from "../lib/redact.ts";
import { expandConnection, fillConnection, inputVariable } from "../lib/server-entry/expand.ts";
import { thisMachine } from "../lib/server-entry/machine.ts";
import { shownLine, shownLines } from "../lib/terminal/output.ts";

/** What is wrong, and what a person can do about it; a sentence each. */
export interface Remedy {
  readonly problem: string;
  readonly fix: string;
}

/** Where the programs come from that definitions name most. */
const programs: Readonly<Record<string, string>> = {
  npx: "Install Node.js (https://nodejs.org)",
  npm: "Install Node.js (https://nodejs.org)",
  node: "Install Node.js (https://nodejs.org)",
  uvx: "Install uv (https://docs.astral.sh/uv)",
  uv: "Install uv (https://docs.astral.sh/uv)",
  bunx: "Install Bun (https://bun.sh)",
  bun: "Install Bun (https://bun.sh)",
  deno: "Install Deno (https://deno.com)",
  docker: "Install Docker (https://docs.docker.com/get-docker)",
  python: "Install Python (https://www.python.org)",
  python3: "Install Python (https://www.python.org)",
};

/** Says of a server that cannot be used why that is, and how it is mended. `more` completes our own commands. */
export async function remedyOf(
  status: ServerStatus,
  error: GatewayError | undefined,
  more = "",
): Promise<Remedy> {
  const { name, config, reason } = status;
  const file = config.origin.file ?? "the config";
  const words = error && (await lastWords(error.cause, config));
  const problem = words === undefined ? reason : `${reason} It said: ${words}`;
  if (status.status === "needs-approval") {
    // The reason has the command, but not the config it must be given with.
    const [what = reason] = reason.split(" Approve it with:");
    const command = `toolpipe approve ${shellWord(name)}${more}`;
    return {
      problem: what,
      fix: `Look at it with "toolpipe approve${more}", and if you trust it: ${command}`,
    };
  }
  if (status.status === "needs-auth")
    return { problem, fix: `Log in: toolpipe login ${shellWord(name)}${more}` };
  const fix = fixOf(status, error, file);
  return { problem, fix: fix ?? `See what is known of it: toolpipe why ${shellWord(name)}${more}` };
}

function fixOf(status: ServerStatus, error: GatewayError | undefined, file: string): string | undefined {
  const { connection } = status.config;
  switch (error?.code) {
    case "SPAWN_FAILED":
      return connection.type === "stdio"
        ? afterSpawn(connection.command, connection.cwd, error, file)
        : undefined;
    case "MISSING_VARIABLE":
      return afterMissing(status, error, file);
    case "CONNECT_TIMEOUT":
      return `${tryBy(status)} If it is only slow, give it more time with "startTimeoutMs" in ${file}.`;
    case "TLS_ERROR":
      return `Check the address in ${file}, and that its certificate is valid: ${addressOf(status)}`;
    case "CONNECT_FAILED":
    case "UPSTREAM_CLOSED":
    case "UPSTREAM_STALLED":
    case "TIMEOUT":
      return connection.type === "stdio"
        ? `${tryBy(status)} Its definition is in ${file}.`
        : `Check that it is running, and its address in ${file}: ${addressOf(status)}`;
    case "UPSTREAM_ERROR":
      return connection.type === "stdio"
        ? tryBy(status)
        : `Check the address and the headers in ${file}: ${addressOf(status)}`;
    case "CONFIG_INVALID":
      return `Correct its definition in ${file}.`;
  }
}

function afterSpawn(command: string, cwd: string | undefined, error: GatewayError, file: string): string {
  const { code } = (error.cause ?? {}) as { code?: unknown };
  if (error.message.includes("working folder")) return `Make the folder ${cwd}, or correct "cwd" in ${file}.`;
  if (error.message.includes('belong in "args"'))
    return `Write only the program as "command" in ${file}, and the rest as "args".`;
  const program = (command.split(/[\\/]/).at(-1) ?? "").replace(/\.(exe|cmd)$/i, "");
  if (code === "EACCES" && existsSync(command)) return `Let it be run: chmod +x ${shellWord(command)}`;
  const install = Object.hasOwn(programs, program) ? programs[program] : `Install "${program.slice(0, 100)}"`;
  const place = /[\\/]/.test(command) ? "correct its path" : "write its full path";
  return `${install}, or ${place} as "command" in ${file}.`;
}

function afterMissing({ config }: ServerStatus, error: GatewayError, file: string): string {
  const names = Array.isArray(error.data["variables"]) ? error.data["variables"].map(String) : [];
  const inputs = Object.entries(config.inputs ?? {});
  const asked = inputs.filter(([id]) => names.includes(inputVariable(id)));
  const what = asked.flatMap(([, { description }]) => (description ? [description] : []));
  const means = what.length > 0 ? ` (${what.join("; ").slice(0, 200)})` : "";
  return `Set ${names.join(", ")}${means} where toolpipe is started, or give a default as in \${NAME:-default} in ${file}.`;
}

function tryBy({ config: { connection } }: ServerStatus): string {
  return connection.type === "stdio"
    ? `Run it by hand to see what it waits for or says: ${shownCommand(connection.command, connection.args)}.`
    : "";
}

function addressOf({ config: { connection } }: ServerStatus): string {
  return connection.type === "stdio" ? "" : shownUrl(connection.url);
}

/** A name as one word of a command line. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

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
