import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Gateway, JsonObject } from "../../../core/mod.ts";
import { temporaryFolder, writeFiles } from "../../support/temporary-folder.ts";
import { openSmall, world } from "./world.ts";

/** A registry as it is written to a file. */
export interface Registry {
  readonly schema_version: string;
  readonly last_verified_at: string;
  readonly operation_count: number;
  readonly operations: Readonly<Record<string, JsonObject>>;
}

/** Reads the registry of the world, or another one. */
export async function readRegistryFile(file = world.registry): Promise<Registry> {
  return JSON.parse(await readFile(file, "utf8")) as Registry;
}

/** Opens a gateway on a registry that is kept in a file, after a change of it. */
export async function checkFile(
  change: (registry: Registry) => object,
  options: Readonly<Record<string, object>> = {},
): Promise<Gateway> {
  const folder = await temporaryFolder();
  const file = join(folder, "operations.json");
  const writing = await openSmall({ registry: { path: file } });
  await writing.close();
  await writeFiles(folder, { "operations.json": JSON.stringify(change(await readRegistryFile(file))) });
  const { registry = {}, ...more } = options;
  return openSmall({ registry: { path: file, write: false, ...registry }, ...more });
}
