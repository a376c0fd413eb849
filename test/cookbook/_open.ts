import { readFile } from "node:fs/promises";
import { type Gateway, type GatewayError, type LoadedConfig, loadConfig } from "../../core/mod.ts";
import { presets } from "../../presets/mod.ts";
import { openGateway } from "../support/open-gateway.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** A folder of a user: a config, copies of modules of this cookbook, and other files. */
export async function userFolder(
  config: object | string,
  modules: readonly string[],
  files: Readonly<Record<string, string>> = {},
): Promise<string> {
  const copies: Record<string, string> = { ...files };
  for (const name of modules) copies[name] = await readFile(new URL(name, import.meta.url), "utf8");
  const [name, text] =
    typeof config === "string"
      ? ["toolpipe.config.ts", config]
      : ["toolpipe.config.json", JSON.stringify(config)];
  return temporaryFolder({ ...copies, [name]: text });
}

/** Loads the config of such a folder, as a command does. */
export function loadUserConfig(folder: string, preset?: string): Promise<LoadedConfig> {
  return loadConfig({ presets, cwd: folder, preset });
}

/** A gateway, and what it reported. */
export interface Opened {
  readonly gateway: Gateway;
  readonly folder: string;
  readonly errors: readonly GatewayError[];
}

/** Opens the gateway of such a folder until the test is over. */
export async function openFolder(folder: string): Promise<Opened> {
  const errors: GatewayError[] = [];
  const loaded = await loadUserConfig(folder);
  const listener = {
    name: "listener",
    setup: () => ({ error: (error: GatewayError) => void errors.push(error) }),
  };
  const gateway = await openGateway({ ...loaded, plugins: [...(loaded.plugins ?? []), listener] });
  return { gateway, folder, errors };
}

/** Makes such a folder, and opens its gateway. */
export async function openUserGateway(...given: Parameters<typeof userFolder>): Promise<Opened> {
  return openFolder(await userFolder(...given));
}
