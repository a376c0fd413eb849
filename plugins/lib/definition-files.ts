import { dirname } from "node:path";
import type { ServerConfig } from "../../core/services/sources.ts";
import { hashServer, sha256Hex } from "./hash.ts";
import { findCommandFiles, hashFiles } from "./local-files.ts";
import { fillConnection } from "./server-entry/expand.ts";
import { thisMachine } from "./server-entry/machine.ts";

/** Finds the local files that decide what a server does: its scripts, its `envFile` and its driver. */
export async function findDefinitionFiles(config: ServerConfig): Promise<readonly string[]> {
  const machine = thisMachine();
  const { connection } = fillConnection(config, machine);
  const own = connection.driver;
  const base = config.origin.file === undefined ? machine.project : dirname(config.origin.file);
  const files = own === undefined ? [] : await findCommandFiles([own], base);
  if (connection.type !== "stdio") return files;
  const { command, args, envFile, cwd = machine.project } = connection;
  return [
    ...new Set([
      ...files,
      ...(await findCommandFiles([command, ...args], cwd)),
      ...(envFile === undefined ? [] : [envFile]),
    ]),
  ];
}

/** Hashes the definition of a server with the local files that it names: an approval covers what would be run. */
export async function hashDefinition(config: ServerConfig): Promise<string> {
  const files = await findDefinitionFiles(config);
  return files.length === 0
    ? hashServer(config)
    : sha256Hex(`${hashServer(config)}\n${await hashFiles(files)}`);
}
