import { stat } from "node:fs/promises";
import { extname, join, resolve } from "node:path";
import { GatewayError, isJsonObject, type JsonObject } from "../../../core/mod.ts";
import type { Machine } from "../../../core/services/sources.ts";
import { fileBehind, ifThere, readState } from "../files.ts";
import { readObject } from "../server-entry/find-files.ts";
import { programConfig, variable } from "../server-entry/machine.ts";
import { editFile } from "./edit-json.ts";
import type { Change } from "./journal.ts";

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

/** Prepares adding servers to the user's own config; nothing where there is nothing to add. */
export async function ownChange(own: OwnConfig, added: Readonly<JsonObject>): Promise<Change | undefined> {
  if (Object.keys(added).length === 0) return undefined;
  const file = await fileBehind(own.file);
  const before = await readState(file);
  const edit = { key: "mcpServers", remove: [], put: added };
  const text = before
    ? await editFile(own.file, before.bytes, edit)
    : `${JSON.stringify({ mcpServers: added }, null, 2)}\n`;
  // It holds what the files of clients held, secrets included.
  return { file, before, after: { bytes: Buffer.from(text), mode: 0o600 }, edit };
}
