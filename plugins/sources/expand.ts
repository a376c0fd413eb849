import { readFile } from "node:fs/promises";
import { parseEnv } from "node:util";
import { GatewayError } from "../../core/mod.ts";
import { MISSING_VARIABLE } from "../upstreams/errors.ts";
import { isWebUrl } from "./connection-of.ts";
import { type Machine, pathFrom, untilde, variable } from "./machine.ts";
import type { Connection, ServerConfig, StdioConnection } from "./server-config.ts";
import { fillIn } from "./variables.ts";

/** A connection with its variables filled in as far as they are set. */
export interface Filled {
  readonly connection: Connection;
  /** The names of those that are not. */
  readonly missing: readonly string[];
}

/**
 * Fills in the variables of a server, reads its `envFile`, and leaves a connection that is used as it stands:
 * `envNames`, `envFile` and `bearerEnv` have become part of `env` and `headers`. Called when the server is
 * connected and not before, so that no secret lies around. Throws `MISSING_VARIABLE`, which names names only.
 */
export async function expandConnection(config: ServerConfig, machine: Machine): Promise<Connection> {
  const { connection, missing } = fillConnection(config, machine);
  if (missing.length > 0) throw missingVariables(config, missing);
  if (connection.type !== "stdio") {
    if (!isWebUrl(connection.url)) {
      throw new GatewayError(
        "CONFIG_INVALID",
        `The URL of the server "${config.name}" is not one of http or https.`,
      );
    }
    return connection;
  }
  const { envFile, ...rest } = connection;
  if (envFile === undefined) return rest;
  return { ...rest, env: { ...(await readEnvFile(config.name, envFile)), ...rest.env } };
}

/** The same without reading a file, and without minding what is missing. */
export function fillConnection(config: ServerConfig, machine: Machine): Filled {
  const missing = new Set<string>();
  const fill = (written: string): string =>
    fillIn(written, { machine, source: config.origin.source, onMissing: (name) => missing.add(name) });
  const fillAll = (map: Readonly<Record<string, string>>): Record<string, string> =>
    Object.fromEntries(Object.entries(map).map(([name, value]) => [name, fill(value)]));
  const { connection } = config;
  if (connection.type === "stdio") {
    const filled: StdioConnection = {
      type: "stdio",
      command: untilde(fill(connection.command), machine),
      args: connection.args.map(fill),
      env: { ...inherited(connection.envNames, machine), ...fillAll(connection.env) },
      ...pathOf("cwd", connection.cwd),
      ...pathOf("envFile", connection.envFile),
    };
    return { connection: filled, missing: [...missing] };
  }
  const { type, bearerEnv } = connection;
  const headers = fillAll(connection.headers);
  if (bearerEnv !== undefined) {
    const token = variable(machine, bearerEnv);
    if (token === undefined) missing.add(bearerEnv);
    else headers["Authorization"] = `Bearer ${token}`;
  }
  const oauth = connection.oauth && fillAll(connection.oauth as Record<string, string>);
  const filled = { type, url: fill(connection.url), headers, ...(oauth && { oauth }) };
  return { connection: filled, missing: [...missing] };

  function pathOf(key: "cwd" | "envFile", written: string | undefined): Record<string, string> {
    return written === undefined ? {} : { [key]: pathFrom(fill(written), machine) };
  }
}

function inherited(names: readonly string[] = [], machine: Machine): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = variable(machine, name);
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
