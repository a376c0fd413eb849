import { readFile, realpath, stat } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, dirname, extname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { GatewayError } from "../../core/mod.ts";
import { hashFile, sha256Hex } from "./hash.ts";

/** No honest definition needs more; reading them would delay every start. */
const MOST_FILES = 5_000;
const LARGEST_SCRIPT = 4_000_000;
const SCRIPT = /^\.(?:[cm]?[jt]sx?|py|sh|bash|rb|pl|php|lua|ps1|cmd|bat)?$/i;
const CODE = /^\.(?:json[c5]?|toml|ya?ml|ini|cfg|conf|env|node|so|dylib|dll|wasm|jar|exe|whl|pyz|zip|tgz)$/i;
const DATA =
  /^\.(?:db|sqlite3?|jsonl|ndjson|log|csv|tsv|parquet|txt|md|html?|pdf|docx?|xlsx?|png|jpe?g|gif|svg|webp)$/i;
const ENDINGS = ".ts .mts .cts .js .mjs .cjs .tsx .jsx .json .py .node".split(" ");
/** Files that a runtime looks for in a folder that it is told to run. */
const ENTRIES = [
  "package.json",
  "index.ts",
  "index.js",
  "index.mjs",
  "index.cjs",
  "mod.ts",
  "main.ts",
  "__main__.py",
];

/**
 * Finds the local files that the words of a command name, with the files that their code names by relative paths. The script
 * and what is loaded before it count whatever they are; of other files those that may be code or settings: a database or
 * a log that the server writes to would need a new approval after each call.
 */
export async function findCommandFiles(words: readonly string[], folder: string): Promise<readonly string[]> {
  const files = new Set<string>();
  const first = words.slice(1).find((word) => !word.startsWith("-"));
  for (const [index, word] of words.entries()) {
    const isLoaded =
      index === 0 || word === first || LOADING.test(`${words[index - 1]}=`) || LOADING.test(word);
    for (const part of new Set([word, ...word.split(/[\s'"`;|&()<>=,]+/)])) {
      // A folder is code where it stands for a script; later it is an argument, such as the `.` of a file server.
      for (const file of await resolveName(part, folder, part === first)) {
        if (isLoaded || (await isCode(file))) await addWithImports(files, file);
      }
    }
  }
  return [...files];
}

/** Options that load the file after them. */
const LOADING = /^(?:-r|--require|--import|--(?:experimental-)?loader|--preload|--init-file|--rcfile)=/;

/** Whether a file decides what a program does. One without an ending does if it can be executed. */
async function isCode(file: string): Promise<boolean> {
  const ending = extname(file);
  if (ending !== "") return CODE.test(ending) || SCRIPT.test(ending);
  const found = await stat(file).catch(() => undefined);
  return found !== undefined && (found.mode & 0o111) !== 0;
}

/** Finds the local files that a config or a module names: modules by path or package, and data files in it. */
export async function findNamedFiles(file: string): Promise<readonly string[]> {
  const files = new Set<string>();
  await addWithImports(files, file, true);
  return [...files];
}

/** Hashes a config with the local files that it names: an approval of it covers all code that it runs. */
export async function hashConfigFile(file: string): Promise<string> {
  const files = await findNamedFiles(file);
  return files.length === 1 ? hashFile(file) : hashFiles(files);
}

/** Hashes files with their paths. A file that is gone by then counts as such. */
export async function hashFiles(files: readonly string[]): Promise<string> {
  const parts: string[] = [];
  for (const file of files.toSorted()) {
    const bytes = await readFile(file).catch(() => undefined);
    parts.push(JSON.stringify([file, bytes === undefined ? null : sha256Hex(bytes)]));
  }
  return sha256Hex(parts.join("\n"));
}

async function addWithImports(files: Set<string>, first: string, isConfig = false): Promise<void> {
  const queue = [first];
  for (let file = queue.pop(); file !== undefined; file = queue.pop()) {
    if (files.has(file)) continue;
    if (files.size >= MOST_FILES) {
      throw new GatewayError(
        "CONFIG_INVALID",
        `${first} leads to more than ${MOST_FILES} local files, which are too many to approve.`,
      );
    }
    files.add(file);
    const isFirst = file === first;
    for (const name of await listNames(file, isConfig && isFirst)) {
      const isRelative = /^\.{1,2}[/\\]/.test(name);
      // A config names drivers and plugins by package too; of other code only what is beside it is followed.
      if (!isRelative && !(isConfig && isFirst)) continue;
      for (const found of await resolveName(name, dirname(file), !/^[./\\]+$/.test(name)))
        if (!(isConfig && DATA.test(extname(found)))) queue.push(found);
      if (isConfig && isFirst && !isRelative) queue.push(...(await resolvePackage(name, file)));
    }
  }
}

/** Lists the strings of a file that may be paths. */
async function listNames(file: string, isConfig: boolean): Promise<Iterable<string>> {
  const isScript = SCRIPT.test(extname(file)) || extname(file) === "";
  if (!isScript && !isConfig && basename(file) !== "package.json") return [];
  const found = await stat(file).catch(() => undefined);
  if (!found?.isFile() || found.size > LARGEST_SCRIPT) return [];
  const text = await readFile(file, "utf8");
  const names = new Set<string>();
  for (const [, name = ""] of text.matchAll(/["'`]([^"'`\n]{1,300})["'`]/g)) names.add(name);
  // YAML needs no quotes.
  if (/\.ya?ml$/i.test(file))
    for (const [, name = ""] of text.matchAll(/(?:^|[\s:[,-])([^\s"'`,[\]{}]{1,300})/gm)) names.add(name);
  if (extname(file) === ".py")
    for (const [, name = ""] of text.matchAll(/^\s*(?:from|import)\s+\.*([\w.]+)/gm))
      names.add(`./${name.replaceAll(".", "/")}`);
  if (/^\.(?:sh|bash)?$/.test(extname(file)))
    for (const [, name = ""] of text.matchAll(/(?:^|\s)(\.{1,2}\/[^\s"'`;|&()<>]{1,300})/gm)) names.add(name);
  return names;
}

async function resolveName(
  given: string,
  folder: string,
  entersFolders: boolean,
): Promise<readonly string[]> {
  const name = given.startsWith("file:") && URL.canParse(given) ? toPath(given) : given;
  if (name === "" || name.length > 1_000 || name.includes("\0") || /^[a-z][\w+.-]+:\/\//i.test(name))
    return [];
  const path = resolve(folder, name);
  const found = await stat(path).catch(() => undefined);
  if (found?.isFile()) return [await follow(path)];
  const others = found?.isDirectory()
    ? ENTRIES.flatMap((entry) => (entersFolders ? join(path, entry) : []))
    : /[./\\]/.test(name)
      ? [
          ...ENDINGS.map((ending) => path + ending),
          path.replace(/\.([cm]?)js$/, ".$1ts"),
          join(path, "__init__.py"),
        ]
      : [];
  const files: string[] = [];
  for (const other of others)
    if ((await stat(other).catch(() => undefined))?.isFile()) files.push(await follow(other));
  return files;
}

/** Resolves a package that is installed beside the config: its manifest and its main module. */
async function resolvePackage(name: string, from: string): Promise<readonly string[]> {
  if (!/^(?:@[\w.-]+\/)?[\w-][\w.-]*(?:\/[\w./-]+)?$/.test(name) || name.includes("..")) return [];
  try {
    const require = createRequire(pathToFileURL(from).href);
    const file = require.resolve(name);
    return file.startsWith("/") || /^[a-z]:/i.test(file) ? [await follow(file)] : [];
  } catch {
    return [];
  }
}

function toPath(url: string): string {
  try {
    return fileURLToPath(url);
  } catch {
    return "";
  }
}

/** A link counts as the file that it leads to. */
function follow(path: string): Promise<string> {
  return realpath(path).catch(() => path);
}
