import { readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { type ParseResult, parseSync, Visitor } from "rolldown/utils";

/** One module path that a file names: an import, a re-export, `import()`, an import type or `declare module`. */
export interface Import {
  /** The file that is named, as a path from the root of the project. */
  readonly to: string;
  /** Whether nothing is left of it once types are erased. */
  readonly isType: boolean;
  /** Whether it is an `import()` that runs later. */
  readonly isDynamic: boolean;
}

/** One source file and what it says of others. */
export interface SourceFile {
  /** A path from the root of the project, with slashes. */
  readonly path: string;
  readonly lines: number;
  /** Files of the project only; packages and Node's own modules are left out. */
  readonly imports: readonly Import[];
  /** How many `import()`s have a path that is not a literal. */
  readonly computedImports: number;
  /** Names that are declared here and exported; a name that is passed on from another file is not among them. */
  readonly exports: readonly string[];
}

/** The folders that hold sources. */
export const SOURCE_FOLDERS: readonly string[] = ["core", "plugins", "presets", "playground"];

/** Reads all TypeScript files of some folders, sorted by path. */
export function readSources(root: string, folders: readonly string[] = SOURCE_FOLDERS): SourceFile[] {
  const names = packageModules(root);
  return folders
    .flatMap((folder) => listFiles(root, folder))
    .sort()
    .map((path) => readSource(path, readFileSync(join(root, path), "utf8"), names));
}

/** The TypeScript files of a folder, as paths from the root. */
export function listFiles(root: string, folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
    .map((entry) => posix.join(entry.parentPath.slice(root.length).replaceAll("\\", "/"), entry.name))
    .map((path) => path.replace(/^\//, ""))
    .filter((path) => !path.includes("node_modules/"));
}

/** The files behind the names that this package exports, such as `toolpipe/plugins/retry`. */
export function packageModules(root: string): ReadonlyMap<string, string> {
  const { exports } = JSON.parse(readFileSync(join(root, "deno.json"), "utf8")) as {
    exports: Record<string, string>;
  };
  return new Map(
    Object.entries(exports).map(([name, file]) => [posix.join("toolpipe", name), posix.normalize(file)]),
  );
}

/** The file of the project that a module path means, seen from another file; undefined for a package. */
export function resolveImport(
  from: string,
  specifier: string,
  names: ReadonlyMap<string, string>,
): string | undefined {
  return specifier.startsWith(".") ? posix.join(posix.dirname(from), specifier) : names.get(specifier);
}

/** Parses one file; a syntax error is thrown. */
export function parseFile(path: string, text: string): ParseResult {
  const parsed = parseSync(path, text);
  const [error] = parsed.errors;
  if (error) throw new Error(`Cannot parse ${path}: ${error.message}`);
  return parsed;
}

/** Reads the imports and exports of one file. */
export function readSource(path: string, text: string, names: ReadonlyMap<string, string>): SourceFile {
  const parsed = parseFile(path, text);
  const { staticImports, staticExports } = parsed.module;
  const imports: Import[] = [];
  const exports = new Set<string>();
  let computedImports = 0;
  const add = (specifier: unknown, isType: boolean, isDynamic = false): void => {
    const to = typeof specifier === "string" ? resolveImport(path, specifier, names) : undefined;
    if (to !== undefined) imports.push({ to, isType, isDynamic });
  };
  for (const { start, moduleRequest, entries } of staticImports) {
    const isType =
      entries.length > 0 ? entries.every((one) => one.isType) : /^import type/.test(text.slice(start));
    add(moduleRequest.value, isType);
  }
  for (const { entries } of staticExports) {
    add(
      entries[0]?.moduleRequest?.value,
      entries.every((one) => one.isType),
    );
    for (const { moduleRequest, exportName } of entries)
      if (!moduleRequest && exportName.name) exports.add(exportName.name);
  }
  // To make objects of a whole syntax tree takes four times as long as to parse it.
  if (/\bimport\(|\bdeclare module\b/.test(text))
    new Visitor({
      ImportExpression({ source }) {
        if (source.type === "Literal") add(source.value, false, true);
        else computedImports++;
      },
      TSImportType({ source }) {
        add(source.value, true);
      },
      TSModuleDeclaration({ id }) {
        if (id.type === "Literal") add(id.value, true);
      },
    }).visit(parsed.program);
  const lines = text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
  return { path, lines, imports, computedImports, exports: [...exports] };
}

/**
 * The unit that a file belongs to: `core`, `core/services`, `plugins/retry` (a folder or a single file),
 * `presets/anygpt/mod`, `playground`.
 */
export function findUnit(path: string): string {
  const [layer = "", name = "", ...rest] = path.split("/");
  if (layer === "playground") return layer;
  if (layer === "core" && rest.length === 0) return layer;
  return `${layer}/${rest.length === 0 ? name.replace(/\.ts$/, "") : name}`;
}

/** Groups of units that can reach each other, each with more than one member. */
export function findCycles(edges: ReadonlyMap<string, ReadonlySet<string>>): string[][] {
  const reach = new Map([...edges.keys()].map((unit) => [unit, reachable(unit, edges)]));
  const found: string[][] = [];
  const placed = new Set<string>();
  for (const unit of [...edges.keys()].sort()) {
    if (placed.has(unit) || !reach.get(unit)?.has(unit)) continue;
    const cycle = [...(reach.get(unit) ?? [])].filter((other) => reach.get(other)?.has(unit)).sort();
    for (const member of cycle) placed.add(member);
    if (cycle.length > 1) found.push(cycle);
  }
  return found;
}

function reachable(from: string, edges: ReadonlyMap<string, ReadonlySet<string>>): Set<string> {
  const seen = new Set<string>();
  const queue = [from];
  for (let unit = queue.pop(); unit !== undefined; unit = queue.pop()) {
    for (const next of edges.get(unit) ?? []) {
      if (!seen.has(next)) queue.push(next);
      seen.add(next);
    }
  }
  return seen;
}

/** Which units import which others; the files directly under core are left out, since core/services is one layer with them. */
export function unitEdges(files: readonly SourceFile[]): Map<string, Set<string>> {
  const edges = new Map<string, Set<string>>();
  for (const { path, imports } of files) {
    const from = findUnit(path);
    if (from === "core") continue;
    const targets = edges.get(from) ?? new Set();
    edges.set(from, targets);
    for (const { to } of imports)
      if (findUnit(to) !== from && findUnit(to) !== "core") targets.add(findUnit(to));
  }
  return edges;
}
