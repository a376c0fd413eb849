import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { JsonObject } from "../../core/mod.ts";

/** Real servers, which a clone has for its tests and an installed package has not. */
const packages = ["everything", "filesystem", "memory"] as const;

/** The servers of the demo, with their files in a folder of its own; nothing where they are not installed. */
export function demoServers(
  folder: string,
  root: string | undefined = cloneFolder(),
): JsonObject | undefined {
  if (root === undefined) return undefined;
  const [everything, filesystem, memory] = packages.map((name) =>
    join(root, "node_modules", "@modelcontextprotocol", `server-${name}`, "dist", "index.js"),
  ) as [string, string, string];
  if (![everything, filesystem, memory].every((file) => existsSync(file))) return undefined;
  // They are made for Node, whatever runs us.
  const command = "Deno" in globalThis ? "node" : process.execPath;
  return {
    everything: { command, args: [everything, "stdio"] },
    filesystem: { command, args: [filesystem, join(root, "playground")] },
    memory: { command, args: [memory], env: { MEMORY_FILE_PATH: join(folder, "memory.jsonl") } },
  };
}

/** The folder of the clone we run from. An installed package is not one, whatever is installed beside it. */
function cloneFolder(): string | undefined {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, "package.json"))) {
    if (dirname(folder) === folder) return undefined;
    folder = dirname(folder);
  }
  return /[\\/]node_modules[\\/]/.test(`${folder}/`) ? undefined : folder;
}
