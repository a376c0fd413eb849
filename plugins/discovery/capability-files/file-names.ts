import { createHash } from "node:crypto";

const LONGEST = 80;
/** Windows takes these for devices, whatever follows the first dot. */
const DEVICE = /^(?:con|prn|aux|nul|conin|conout|com\d|lpt\d)(?:$|\.)/i;

/** A name that ends like this gets a hash too: no name can be chosen that is the file name of another. */
const LIKE_HASHED = /-[0-9a-f]{12}$/i;

/**
 * A file name for each of these names, whatever strangers have called their servers and tools: letters, digits,
 * `_`, `-` and dots within, never a path, never a device, and no two that one file system takes for the same.
 */
export function fileNames(names: Iterable<string>): ReadonlyMap<string, string> {
  const all = [...new Set(names)].toSorted();
  const taken = new Set<string>();
  const given = new Map<string, string>();
  const take = (name: string, file: string): boolean => {
    if (taken.has(file.toLowerCase())) return false;
    taken.add(file.toLowerCase());
    given.set(name, file);
    return true;
  };
  // Those that can stay as they are come first, so that no made-up name takes theirs.
  const plain = all.filter(isPlain);
  const odd = all.filter((name) => !isPlain(name));
  for (const name of plain) if (name === name.toLowerCase()) take(name, name);
  for (const name of plain) if (name !== name.toLowerCase() && !take(name, name)) odd.push(name);
  for (const name of odd) {
    const file = hashed(name);
    for (let number = 1; !take(name, number === 1 ? file : `${file}-${number}`); number++);
  }
  return given;
}

/** The folder of a server. Which others there are is not known, so one in capitals gets a hash too. */
export function folderName(server: string): string {
  return isPlain(server) && server === server.toLowerCase() ? server : hashed(server);
}

function isPlain(name: string): boolean {
  const isName = name.length <= LONGEST && /^[A-Za-z0-9_](?:[\w.-]*[\w-])?$/.test(name);
  return isName && !DEVICE.test(name) && !LIKE_HASHED.test(name);
}

function hashed(name: string): string {
  const safe = name
    .replace(/[^\w-]+/g, "_")
    .replace(/^(?:-+|$)/, "_")
    .slice(0, LONGEST - 20);
  return `${safe}-${createHash("sha256").update(name).digest("hex").slice(0, 12)}`;
}
