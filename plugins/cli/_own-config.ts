import { stat } from "node:fs/promises";
import { extname, join, resolve } from "node:path";
import { GatewayError, isJsonObject, type JsonObject } from "../../core/mod.ts";
import { readObject } from "../sources/find-files.ts";
import { type Machine, programConfig, variable } from "../sources/machine.ts";
import { ifThere } from "../state/_files.ts";

/** The config of a person, which is in no project: `toolpipe/toolpipe.config.json` where programs keep settings. */
export function ownConfigFile(machine: Machine): string {
  const own = variable(machine, "TOOLPIPE_HOME");
  return own
    ? join(resolve(own), "toolpipe.config.json")
    : join(programConfig(machine), "toolpipe", "toolpipe.config.json");
}

/** A config that servers can be added to. */
export interface OwnConfig {
  readonly file: string;
  readonly isThere: boolean;
  /** The definitions under `mcpServers`. */
  readonly servers: Readonly<JsonObject>;
  /** All names that are taken. */
  readonly names: ReadonlySet<string>;
}

/** Reads the config that servers are to be added to. */
export async function readOwnConfig(file: string): Promise<OwnConfig> {
  const ending = extname(file).toLowerCase();
  if (ending !== ".json") {
    throw new GatewayError(
      "CONFIG_INVALID",
      `${file}: toolpipe adds servers to JSON files only. Name one with --config, or add them by hand under "mcpServers".`,
    );
  }
  const isThere = (await ifThere(stat(file))) !== undefined;
  const data = isThere ? await readObject(file) : {};
  const { mcpServers = {}, servers = [] } = data;
  if (!isJsonObject(mcpServers)) {
    throw new GatewayError("CONFIG_INVALID", `${file}: mcpServers: expected an object of servers by name.`);
  }
  const listed = Array.isArray(servers) ? servers.filter(isJsonObject).map(({ name }) => String(name)) : [];
  return { file, isThere, servers: mcpServers, names: new Set([...Object.keys(mcpServers), ...listed]) };
}
