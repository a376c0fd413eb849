import { readdir, readFile, stat } from "node:fs/promises";
import { extname, join, resolve } from "node:path";
import { GatewayError, isJsonObject, type JsonObject, readDataFile } from "../../../core/mod.ts";
import type { Place } from "../../../core/services/sources.ts";

/** The history that one client keeps in the same file grows large; nothing honest grows larger. */
const LARGEST = 64_000_000;

/** The files of the first place that has any. One that exists but cannot be read counts as well. */
export async function findFiles(places: readonly Place[]): Promise<readonly string[]> {
  for (const { base, parts } of places) {
    const files = await expandParts(base, parts);
    if (files.length > 0) return files;
  }
  return [];
}

/** How a place is named to a person. */
export function nameOf({ base, parts }: Place): string {
  return join(base, ...parts);
}

async function expandParts(base: string, parts: readonly string[]): Promise<readonly string[]> {
  const [part, ...rest] = parts;
  if (part === undefined) return (await exists(base)) ? [resolve(base)] : [];
  if (!part.includes("*")) return expandParts(join(base, part), rest);
  const [start = "", end = ""] = part.split("*");
  const names = await readdir(base).catch(() => []);
  const fitting = names.filter(
    (name) => name.length >= start.length + end.length && name.startsWith(start) && name.endsWith(end),
  );
  // The order in which a folder lists its files is not the same everywhere.
  const found = await Promise.all(fitting.toSorted().map((name) => expandParts(join(base, name), rest)));
  return found.flat();
}

async function exists(file: string): Promise<boolean> {
  try {
    await stat(file);
    return true;
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    return code !== "ENOENT" && code !== "ENOTDIR";
  }
}

/** Reads a file that must hold an object; an empty YAML or TOML file is an empty one. */
export async function readObject(file: string): Promise<JsonObject> {
  // A pipe in a project would keep us waiting for ever.
  const { isFile, size } = await stat(file).then(
    (found) => ({ isFile: found.isFile(), size: found.size }),
    // Reading it says more clearly why it cannot be read.
    () => ({ isFile: true, size: 0 }),
  );
  if (!isFile) throw new GatewayError("CONFIG_INVALID", `${file}: it is not a file.`);
  if (size > LARGEST)
    throw new GatewayError("CONFIG_INVALID", `${file}: it is larger than ${LARGEST} bytes.`);
  const data = (await parsed(file)) ?? {};
  if (!isJsonObject(data)) throw new GatewayError("CONFIG_INVALID", `${file}: it does not hold an object.`);
  return data;
}

/** Most files are plain JSON, and one of several megabytes is parsed in a fraction of the time if it is. */
async function parsed(file: string): Promise<unknown> {
  if (extname(file).toLowerCase() === ".json") {
    const text = await readFile(file, "utf8").catch(() => "");
    try {
      if (!text.includes("__proto__")) return JSON.parse(text);
    } catch {
      // With comments in it, or broken: then the other parser says where.
    }
  }
  return readDataFile(file);
}
