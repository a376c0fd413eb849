import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Collected, Machine, ServerConfig } from "../../../core/services/sources.ts";
import { clients } from "../../../plugins/sources/clients.ts";
import { collect } from "../../../plugins/sources/collect.ts";
import { temporaryFolder, writeFiles } from "../../support/temporary-folder.ts";

/** The systems whose path layouts are told apart. */
export const platforms = ["linux", "darwin", "win32"] as const;

/** A computer of its own in a temporary folder: `home`, `project`, and on Windows `appdata` and `local`. */
export async function createMachine(
  files: Readonly<Record<string, string>> = {},
  { platform = "linux", env = {} }: { platform?: NodeJS.Platform; env?: Record<string, string> } = {},
): Promise<Machine> {
  const root = await temporaryFolder();
  for (const name of ["home", "project", "appdata", "local"]) await mkdir(join(root, name));
  const project = join(root, "project");
  // In JSON, the path of the project is written as on every system: with slashes.
  const own = Object.entries(files).map(([name, text]) => [
    name,
    text.replaceAll("<project>", project.replaceAll("\\", "/")),
  ]);
  await writeFiles(root, Object.fromEntries(own));
  return {
    platform,
    home: join(root, "home"),
    project,
    env: {
      ...(platform === "win32" && { APPDATA: join(root, "appdata"), LOCALAPPDATA: join(root, "local") }),
      ...env,
    },
  };
}

/** A file that mirrors what a client writes. */
export function fixture(name: string): Promise<string> {
  return readFile(new URL(`../../fixtures/clients/${name}`, import.meta.url), "utf8");
}

/** Collects the servers of the named clients; of all clients if none is named. */
export function collectClients(machine: Machine, ...names: readonly string[]): Promise<Collected> {
  return collect(
    clients.filter(({ name }) => names.length === 0 || names.includes(name)),
    machine,
  );
}

/** The servers by name, without where they come from. */
export function byName({ servers }: Collected): Record<string, Omit<ServerConfig, "name" | "origin">> {
  return Object.fromEntries(servers.map(({ name, origin: _, ...rest }) => [name, rest]));
}

/** An entry of most clients' files, as text. */
export function mcpServers(servers: Record<string, unknown>): string {
  return JSON.stringify({ mcpServers: servers });
}
