import { readFile } from "node:fs/promises";
import { basename, sep } from "node:path";
import { parseEnv } from "node:util";
import { GatewayError } from "../../../core/mod.ts";
import { MISSING_VARIABLE } from "../../../core/services/servers.ts";
import type { Connection, Machine, ServerConfig, StdioConnection } from "../../../core/services/sources.ts";
import { isWebUrl } from "./connection.ts";
import { isFromProjectFile, refuseLoaderVariables } from "./loader-variables.ts";
import { expandHome, getVariable, resolvePath } from "./machine.ts";

/** Connection with its variables filled in as far as they are set. */
export interface FilledConnection {
  readonly connection: Connection;
  /** Names of variables that are not set. */
  readonly missing: readonly string[];
}

/**
 * Fills in the variables of a connection and reads its `envFile`: `envNames`, `envFile` and `bearerEnv` become part of
 * `env` and `headers`. Called only when the server is connected, so that no secret stays in memory. Throws
 * `MISSING_VARIABLE`, which quotes names only.
 */
export async function expandConnection(config: ServerConfig, machine: Machine): Promise<Connection> {
  const { connection, missing } = fillConnection(config, machine);
  if (missing.length > 0) throw missingVariables(config, missing);
  if (connection.type !== "stdio") {
    if (connection.driver === undefined && !isWebUrl(connection.url)) {
      throw new GatewayError(
        "CONFIG_INVALID",
        `The URL of the server "${config.name}" is not one of http or https.`,
      );
    }
    return connection;
  }
  const { envFile, ...rest } = connection;
  const fromFile = envFile === undefined ? {} : await readEnvFile(config.name, envFile);
  if (isFromProjectFile(config)) {
    const written = config.connection.type === "stdio" ? config.connection.env : {};
    const refused =
      refuseLoaderVariables(written, `Its definition in ${config.origin.file}`) ??
      refuseLoaderVariables(fromFile, `Its envFile ${envFile}`);
    if (refused !== undefined)
      throw new GatewayError("CONFIG_INVALID", `The server "${config.name}" is not started. ${refused}`, {
        data: { server: config.name },
      });
  }
  return { ...rest, env: { ...fromFile, ...rest.env } };
}

/** Fills in the variables of a connection without reading a file. Missing variables are no error. */
export function fillConnection(config: ServerConfig, machine: Machine): FilledConnection {
  const missing = new Set<string>();
  const fill = (written: string): string =>
    fillVariables(written, { machine, source: config.origin.source, onMissing: (name) => missing.add(name) });
  const fillAll = (map: Readonly<Record<string, string>>): Record<string, string> =>
    Object.fromEntries(Object.entries(map).map(([name, value]) => [name, fill(value)]));
  const { connection } = config;
  const own = connection.driver === undefined ? {} : { driver: connection.driver };
  if (connection.type === "stdio") {
    const filled: StdioConnection = {
      type: "stdio",
      command: expandHome(fill(connection.command), machine),
      args: connection.args.map(fill),
      env: { ...inheritVariables(connection.envNames, machine), ...fillAll(connection.env) },
      ...expandPath("cwd", connection.cwd),
      ...expandPath("envFile", connection.envFile),
    };
    return { connection: { ...filled, ...own }, missing: [...missing] };
  }
  const { type, bearerEnv } = connection;
  const headers = fillAll(connection.headers);
  if (bearerEnv !== undefined) {
    const token = getVariable(machine, bearerEnv);
    if (token === undefined) missing.add(bearerEnv);
    else headers["Authorization"] = `Bearer ${token}`;
  }
  const oauth = connection.oauth && fillAll(connection.oauth as Record<string, string>);
  const filled = { type, url: fill(connection.url), headers, ...(oauth && { oauth }), ...own };
  return { connection: filled, missing: [...missing] };

  function expandPath(key: "cwd" | "envFile", written: string | undefined): Record<string, string> {
    return written === undefined ? {} : { [key]: resolvePath(fill(written), machine) };
  }
}

function inheritVariables(names: readonly string[] = [], machine: Machine): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = getVariable(machine, name);
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

async function readEnvFile(server: string, file: string): Promise<Record<string, string>> {
  try {
    return { ...parseEnv(await readFile(file, "utf8")) } as Record<string, string>;
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? "not valid";
    throw new GatewayError(
      "CONFIG_INVALID",
      `The envFile of the server "${server}" cannot be read: ${file} (${code}).`,
      { cause, data: { server } },
    );
  }
}

function missingVariables(config: ServerConfig, variables: readonly string[]): GatewayError {
  const where = config.origin.file ?? config.origin.source;
  const [names, verb] = [variables.join(", "), variables.length === 1 ? "is" : "are"];
  return new GatewayError(
    MISSING_VARIABLE,
    `The server "${config.name}" cannot be used: its definition in ${where} needs ${names}, which ${verb} not set.`,
    { data: { server: config.name, variables } },
  );
}

interface VariableOptions {
  readonly machine: Machine;
  /** Source of the string: each knows other ways to write variables. */
  readonly source: string;
  /** Called with the name of each variable that is not set; the string keeps it as written. */
  readonly onMissing: (name: string) => void;
}

// A `$` of a password must survive in the files of clients that take it as it is.
const knowsBareNames = new Set(["gemini-cli", "antigravity", "copilot", "crush"]);
const knowsBraceEnv = new Set(["opencode"]);

const PATTERN =
  /\$\$(?!\{)|\$\{\{\s*(?:secrets|env)\.(?<secret>\w+)\s*\}\}|\$\{(?<braced>[^{}]*)\}|\{env:(?<braceEnv>\w+)\}|\$(?<bare>[A-Za-z_]\w*)/g;

/** Fills in the variables of a string, once: their values are not expanded again. */
export function fillVariables(written: string, options: VariableOptions): string {
  return written.replace(PATTERN, (...match) => {
    const whole = match[0] as string;
    const groups = match.at(-1) as Record<string, string | undefined>;
    const { secret, braced, braceEnv, bare } = groups;
    if (secret !== undefined) return resolveVariable(secret, whole, options);
    if (braced !== undefined) return resolveBraces(braced, whole, options);
    if (braceEnv !== undefined && knowsBraceEnv.has(options.source))
      return resolveVariable(braceEnv, whole, options);
    if (bare === undefined || !knowsBareNames.has(options.source)) return whole;
    // Even there, an unset name in lower case is part of the string, as in these clients.
    return resolveVariable(bare, whole, options, /[a-z]/.test(bare) ? whole : undefined);
  });
}

/** Returns the variable in which a user sets the value of `${input:id}`. */
export function toInputVariable(id: string): string {
  return `TOOLPIPE_INPUT_${id.toUpperCase().replace(/\W/g, "_")}`;
}

function resolveBraces(inner: string, whole: string, options: VariableOptions): string {
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
  if (prefix === "input:") return resolveVariable(toInputVariable(name), whole, options, otherwise);
  // Other braces belong to a shell, or to a template of the server.
  return /^[A-Za-z_]\w*$/.test(name) ? resolveVariable(name, whole, options, otherwise) : whole;
}

function resolveVariable(name: string, whole: string, options: VariableOptions, otherwise?: string): string {
  const value = getVariable(options.machine, name) ?? otherwise;
  if (value !== undefined) return value;
  options.onMissing(name);
  return whole;
}
