import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdir, readdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { parseYAML } from "confbox";

const root = fileURLToPath(new URL("../../", import.meta.url));
const run = promisify(execFile);

/** Reads what the image runs: its `ENTRYPOINT`, and its `CMD` as the default arguments. */
export function readImageCommand(): {
  readonly entrypoint: readonly string[];
  readonly command: readonly string[];
} {
  const dockerfile = readFileSync(join(root, "Dockerfile"), "utf8");
  const read = (name: string): string[] =>
    JSON.parse(new RegExp(`^${name} (\\[.+\\])$`, "m").exec(dockerfile)?.[1] ?? "[]");
  return { entrypoint: read("ENTRYPOINT"), command: read("CMD") };
}

/** Reads the command of the replicas in `compose.yaml`, which replaces that of the image. */
export function readComposeCommand(): readonly string[] {
  const text = readFileSync(join(root, "compose.yaml"), "utf8");
  return parseYAML<{ "x-replica": { command: string[] } }>(text)["x-replica"].command;
}

/** Packs the build as npm would publish it, and unpacks it into a folder, with the dependencies beside it. */
export async function unpackPackage(folder: string): Promise<string> {
  // Its scripts would build again while other tests use the build.
  await run("npm", ["pack", "--ignore-scripts", "--silent", "--pack-destination", folder], { cwd: root });
  const archive = (await readdir(folder)).find((name) => name.endsWith(".tgz")) ?? "";
  const app = join(folder, "app");
  await mkdir(app);
  await run("tar", ["-xzf", join(folder, archive), "-C", app, "--strip-components=1"]);
  await symlink(join(root, "node_modules"), join(app, "node_modules"));
  return app;
}

/**
 * Places a command of the image on this machine: files by where they are here, this Node in place of that of the image.
 * `tini`, which only reaps orphans, is left out.
 */
export function placeCommand(
  words: readonly string[],
  places: Readonly<Record<string, string>>,
): readonly [string, ...string[]] {
  const [first, ...rest] = words[0] === "tini" ? words.slice(words.indexOf("--") + 1) : words;
  if (first !== "node") throw new Error(`The image runs "${first}", and not Node.`);
  const place = (word: string): string =>
    Object.entries(places).reduce((placed, [from, to]) => placed.replace(from, to), word);
  return [process.execPath, ...rest.map(place)];
}
