import { existsSync } from "node:fs";
import type { GatewayError } from "../../../core/mod.ts";
import type { ServerStatus } from "../../../core/services/servers.ts";
import type { Connection, ServerConfig } from "../../../core/services/sources.ts";
import { createRedactor, redactCommand, redactSecrets, redactUrl } from "../../lib/redact.ts";
import { expandConnection, fillConnection, toInputVariable } from "../../lib/server-entry/expand.ts";
import { thisMachine } from "../../lib/server-entry/machine.ts";
import { quoteForShell, toTerminalLine, toTerminalLines } from "../../lib/terminal/output.ts";

/** A problem and its fix, one sentence each. */
export interface Remedy {
  readonly problem: string;
  readonly fix: string;
}

/** Installation of the most common programs. */
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

/** Explains why a server cannot be used and how to fix it. `more` is appended to our commands. */
export async function findRemedy(
  status: ServerStatus,
  error: GatewayError | undefined,
  more = "",
): Promise<Remedy> {
  const { name, config, reason } = status;
  const file = config.origin.file ?? "the config";
  const lastError = error && (await findLastError(error.cause, config));
  const problem = lastError === undefined ? reason : `${reason} It said: ${lastError}`;
  if (status.status === "needs-approval") {
    // The reason names the command without the config option.
    const [what = reason] = reason.split(" Approve it with:");
    const command = `toolpipe approve ${quoteForShell(name)}${more}`;
    return {
      problem: what,
      fix: `Review it with "toolpipe approve${more}". If you trust it: ${command}`,
    };
  }
  if (status.status === "needs-auth")
    return { problem, fix: `Log in: toolpipe login ${quoteForShell(name)}${more}` };
  const fix = findFix(status, error, file);
  return { problem, fix: fix ?? `See its details: toolpipe why ${quoteForShell(name)}${more}` };
}

function findFix(status: ServerStatus, error: GatewayError | undefined, file: string): string | undefined {
  const { connection } = status.config;
  switch (error?.code) {
    case "SPAWN_FAILED":
      return connection.type === "stdio"
        ? fixSpawn(connection.command, connection.cwd, error, file)
        : undefined;
    case "MISSING_VARIABLE":
      return fixVariables(status, error, file);
    case "CONNECT_TIMEOUT":
      return `${suggestRun(status)} If it is slow, raise "startTimeoutMs" in ${file}.`;
    case "TLS_ERROR":
      return `Check the address in ${file}, and that its certificate is valid: ${formatAddress(status)}`;
    case "CONNECT_FAILED":
    case "UPSTREAM_CLOSED":
    case "UPSTREAM_STALLED":
    case "TIMEOUT":
      return connection.type === "stdio"
        ? `${suggestRun(status)} Its definition is in ${file}.`
        : `Check that it is running, and its address in ${file}: ${formatAddress(status)}`;
    case "UPSTREAM_ERROR":
      return connection.type === "stdio"
        ? suggestRun(status)
        : `Check the address and the headers in ${file}: ${formatAddress(status)}`;
    case "CONFIG_INVALID":
      return `Correct its definition in ${file}.`;
  }
}

function fixSpawn(command: string, cwd: string | undefined, error: GatewayError, file: string): string {
  const { code } = (error.cause ?? {}) as { code?: unknown };
  if (error.message.includes("working folder"))
    return `Create the folder ${cwd}, or correct "cwd" in ${file}.`;
  if (error.message.includes('belong in "args"'))
    return `Write only the program as "command" in ${file}, and the rest as "args".`;
  const program = (command.split(/[\\/]/).at(-1) ?? "").replace(/\.(exe|cmd)$/i, "");
  if (code === "EACCES" && existsSync(command))
    return `Make it executable: chmod +x ${quoteForShell(command)}`;
  const install = Object.hasOwn(programs, program) ? programs[program] : `Install "${program.slice(0, 100)}"`;
  const place = /[\\/]/.test(command) ? "correct its path" : "write its full path";
  return `${install}, or ${place} as "command" in ${file}.`;
}

function fixVariables({ config }: ServerStatus, error: GatewayError, file: string): string {
  const names = Array.isArray(error.data["variables"]) ? error.data["variables"].map(String) : [];
  const inputs = Object.entries(config.inputs ?? {});
  const asked = inputs.filter(([id]) => names.includes(toInputVariable(id)));
  const what = asked.flatMap(([, { description }]) => (description ? [description] : []));
  const means = what.length > 0 ? ` (${what.join("; ").slice(0, 200)})` : "";
  return `Set ${names.join(", ")}${means} where toolpipe is started, or give a default as in \${NAME:-default} in ${file}.`;
}

function suggestRun({ config: { connection } }: ServerStatus): string {
  return connection.type === "stdio"
    ? `Run it by hand to see its output: ${redactCommand(connection.command, connection.args)}.`
    : "";
}

function formatAddress({ config: { connection } }: ServerStatus): string {
  return connection.type === "stdio" ? "" : redactUrl(connection.url);
}

/** Lines of stack traces and logs that do not explain a failure. */
const NOISE = /^\s*(at |Node\.js v\d|File ".*", line|\^+\s*$|[{}[\]()]*\s*$|npm (error|ERR!) A complete log)/;
const EXPLAINING =
  /error|exception|cannot|could not|can't|missing|required|must|invalid|fail|denied|not found|no such|usage/i;
/** Shorter values may be ordinary words. */
const MIN_SECRET_LENGTH = 6;
const MAX_LENGTH = 300;

/** Finds the most informative line in the error output of a server, redacted. */
export async function findLastError(cause: unknown, config: ServerConfig): Promise<string | undefined> {
  if (!(cause instanceof Error) || !cause.message.startsWith("Its error output ends with:\n")) return;
  const [, ...lines] = toTerminalLines(cause.message).split("\n");
  const words = lines.filter((line) => !NOISE.test(line) && line.trim() !== "");
  const line = words.findLast((one) => EXPLAINING.test(one)) ?? words.at(-1);
  if (line === undefined) return;
  const machine = thisMachine();
  // With the values of its envFile, if that can be read.
  const connection = await expandConnection(config, machine).catch(
    () => fillConnection(config, machine).connection,
  );
  return toTerminalLine(redactLine(line, connection)).slice(0, MAX_LENGTH);
}

/** Redacts the values that the entry passes to the server, and strings that look like secrets. */
function redactLine(line: string, connection: Connection): string {
  const given =
    connection.type === "stdio"
      ? [...Object.values(connection.env), ...connection.args.flatMap(selectSecret)]
      : Object.values(connection.headers);
  return redactSecrets(createRedactor(given.filter((value) => value.length >= MIN_SECRET_LENGTH))(line));
}

/** Selects arguments that may be secrets: no paths, no plain words; of an option, its value. */
function selectSecret(arg: string): string[] {
  const value = arg.replace(/^--?[\w.-]+=/, "");
  return /\d/.test(value) && !/^-|[\\/]/.test(value) ? [value] : [];
}
