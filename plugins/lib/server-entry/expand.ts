import { readFile } from "node:fs/promises";
import { basename, sep } from "node:path";
import { parseEnv } from "node:util";
import { GatewayError } from "../../../core/mod.ts";
import { MISSING_VARIABLE } from "../../../core/services/servers.ts";
import type { Connection, Machine, ServerConfig, StdioConnection } from "../../../core/services/sources.ts";
import { isWebUrl } from "./connection.ts";
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

/** Variables that make a runtime, a shell or a package manager load code, or that decide which program a name means. */
const LOADER_VARIABLES = new Set(
  `PATH PATHEXT COMSPEC SHELL ENV BASH_ENV ZDOTDIR PROMPT_COMMAND IFS
  NODE_OPTIONS NODE_PATH NODE_REPL_EXTERNAL_MODULE ELECTRON_RUN_AS_NODE BUN_OPTIONS BUN_INSPECT_PRELOAD TS_NODE_PROJECT
  LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT GCONV_PATH GLIBC_TUNABLES
  PYTHONPATH PYTHONSTARTUP PYTHONHOME PYTHONUSERBASE PYTHONBREAKPOINT PYTHONINSPECT
  PERL5OPT PERL5LIB PERL5DB RUBYOPT RUBYLIB LUA_INIT LUA_PATH LUA_CPATH PHPRC PHP_INI_SCAN_DIR R_PROFILE R_PROFILE_USER
  JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS CLASSPATH DOTNET_STARTUP_HOOKS CORECLR_PROFILER CORECLR_PROFILER_PATH
  GEM_HOME GEM_PATH BUNDLE_GEMFILE GOFLAGS RUSTC_WRAPPER EDITOR VISUAL PAGER BROWSER
  GIT_SSH GIT_SSH_COMMAND GIT_EXEC_PATH GIT_ASKPASS GIT_EXTERNAL_DIFF GIT_PAGER SSH_ASKPASS`.split(/\s+/),
);
const LOADER_PREFIXES = /^(?:DYLD_|NPM_CONFIG_|YARN_|BUN_CONFIG_|UV_|PIP_|GIT_CONFIG|PNPM_|LD_)/;

/** Whether a variable decides which code a process loads. */
export function isLoaderVariable(name: string): boolean {
  const upper = name.toUpperCase();
  return LOADER_VARIABLES.has(upper) || LOADER_PREFIXES.test(upper);
}

/** Whether a definition is from a file of a project, which a stranger may have written. */
export function isFromProjectFile({ origin }: Pick<ServerConfig, "origin">): boolean {
  return origin.scope === "project" && origin.file !== undefined;
}

/** Formats why a definition with such variables is refused, with the value of each. */
export function refuseLoaderVariables(
  env: Readonly<Record<string, string>>,
  where: string,
): string | undefined {
  const found = Object.entries(env).filter(([name]) => isLoaderVariable(name));
  if (found.length === 0) return undefined;
  const shown = found.map(([name, value]) => `${name}=${JSON.stringify(value.slice(0, 200))}`).join(", ");
  return `${where} sets ${shown}, which decides what code is loaded. A project file must not. Define the server in your own config if you want that.`;
}
