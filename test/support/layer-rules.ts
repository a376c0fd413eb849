import { findCycles, findUnit, type SourceFile, unitEdges } from "./source-graph.ts";

/** Each rule of the layers by name, with the lines that break it. */
export type Offences = Readonly<Record<string, readonly string[]>>;

/** Names that many files export because a contract requires them. */
const CONTRACT_NAMES: ReadonlySet<string> = new Set(["command", "commands"]);
const SMALL_FILE_LINES = 20;
/** Composition roots: they put plugins together. */
const ROOTS = /^(presets\/|plugins\/cli\/|playground\/)/;
/** Files of a plugin that a composition root may import. A plugin that is one file is its own entry. */
const ENTRY = /^plugins\/([^/]+\.ts|[^/]+\/mod\.ts|[^/]+\/commands\/mod\.ts)$/;

/** Checks all source files against the rules of the layers. */
export function findOffences(files: readonly SourceFile[]): Offences {
  const edges = files.flatMap(({ path, imports }) => imports.map((one) => ({ from: path, ...one })));
  const list = (isWrong: (edge: (typeof edges)[number]) => boolean): string[] =>
    unique(edges.filter(isWrong).map(({ from, to }) => `${from} → ${to}`));
  const isPlugin = (path: string): boolean =>
    path.startsWith("plugins/") && !path.startsWith("plugins/lib/") && !ROOTS.test(path);
  return {
    "core imports core only": list(({ from, to }) => from.startsWith("core/") && !to.startsWith("core/")),
    "plugins/lib imports core and plugins/lib only": list(
      ({ from, to }) => from.startsWith("plugins/lib/") && !/^(core|plugins\/lib)\//.test(to),
    ),
    "plugins/lib has no gateway": list(
      ({ from, to, isType }) => from.startsWith("plugins/lib/") && /^core\/gateway\.ts$/.test(to) && !isType,
    ),
    "a plugin imports no other plugin": list(
      ({ from, to }) =>
        isPlugin(from) &&
        /^plugins\//.test(to) &&
        !/^plugins\/(lib|cli)\//.test(to) &&
        findUnit(from) !== findUnit(to),
    ),
    "a plugin imports no composition root": list(({ from, to }) => isPlugin(from) && ROOTS.test(to)),
    "a composition root imports plugins by mod.ts and commands/mod.ts": list(
      ({ from, to }) =>
        ROOTS.test(from) &&
        /^plugins\//.test(to) &&
        !to.startsWith("plugins/lib/") &&
        findUnit(from) !== findUnit(to) &&
        !ENTRY.test(to),
    ),
    "commands/mod.ts imports types and has literal import()s": [
      ...list(({ from, isType, isDynamic }) => from.endsWith("/commands/mod.ts") && !isType && !isDynamic),
      ...files
        .filter(({ path, computedImports }) => path.endsWith("/commands/mod.ts") && computedImports > 0)
        .map(({ path }) => `${path} → import() of a computed path`),
    ],
    "no cycle between folders": findCycles(unitEdges(files)).flatMap((cycle) =>
      cycle.map((unit) => `${unit} in a cycle of ${cycle.length}`),
    ),
    "no file is called _name.ts": files.filter(({ path }) => /\/_[^/]*$/.test(path)).map(({ path }) => path),
    "an exported name has one meaning": doubleNames(
      files.filter(({ path }) => !path.startsWith("playground/")),
    ),
    [`a file of at most ${SMALL_FILE_LINES} lines has more than one importer`]: smallFiles(files),
  };
}

function doubleNames(files: readonly SourceFile[]): string[] {
  const places = new Map<string, string[]>();
  for (const { path, exports } of files) {
    for (const name of exports) places.set(name, [...(places.get(name) ?? []), path]);
  }
  return [...places]
    .filter(([name, paths]) => paths.length > 1 && !CONTRACT_NAMES.has(name))
    .map(([name, paths]) => `${name}: ${paths.join(", ")}`);
}

function smallFiles(files: readonly SourceFile[]): string[] {
  const importers = new Map<string, string[]>();
  for (const { path, imports } of files) {
    for (const to of unique(imports.map((one) => one.to)))
      importers.set(to, [...(importers.get(to) ?? []), path]);
  }
  return files.flatMap(({ path, lines }) => {
    const [only, ...others] = importers.get(path) ?? [];
    return lines <= SMALL_FILE_LINES && only && others.length === 0 && !/\/mod\.ts$/.test(path)
      ? [`${path} (${lines} lines) ← ${only}`]
      : [];
  });
}

function unique(values: readonly string[]): string[] {
  return [...new Set(values)];
}
