import { findOffences } from "../support/layer-rules.ts";
import { findCycles, findUnit, readSources, type SourceFile, unitEdges } from "../support/source-graph.ts";
import { fromRoot } from "./_root.ts";

/** Prints the size of the sources and how they hang together; `--than=<folder>` sets another checkout beside them. */
export function size(): void {
  const other = process.argv.find((arg) => arg.startsWith("--than="))?.slice("--than=".length);
  const columns = [...(other ? [measureSize(other)] : []), measureSize(fromRoot())];
  const heads = other ? [other, "here"] : ["here"];
  process.stdout.write(`| | ${heads.join(" | ")} |\n|---|${heads.map(() => "--:|").join("")}\n`);
  for (const name of Object.keys(columns[0] ?? {}))
    process.stdout.write(`| ${name} | ${columns.map((column) => column[name]).join(" | ")} |\n`);
}

function measureSize(root: string): Record<string, number> {
  const files = readSources(root);
  const product = files.filter(({ path }) => !path.startsWith("playground/"));
  const between = product.flatMap(({ path, imports }) =>
    imports
      .filter(({ to }) => isPlugin(path) && isPlugin(to) && findUnit(path) !== findUnit(to))
      .map((one) => ({ path, ...one })),
  );
  const broken = Object.entries(findOffences(files)).map(([rule, found]) => [
    `broken: ${rule}`,
    found.length,
  ]);
  const folders = ["core", "plugins", "presets"].flatMap((folder) => {
    const own = product.filter(({ path }) => path.startsWith(`${folder}/`));
    return [
      [`files in ${folder}`, own.length],
      [`lines in ${folder}`, lineCount(own)],
    ];
  });
  return Object.fromEntries([
    ["files", product.length],
    ["lines", lineCount(product)],
    ["median lines of a file", median(product.map(({ lines }) => lines))],
    ["files of more than 250 lines", product.filter(({ lines }) => lines > 250).length],
    ["files of less than 40 lines", product.filter(({ lines }) => lines < 40).length],
    ...folders,
    ["imports between plugins", between.length],
    ["imports of values between plugins", between.filter(({ isType }) => !isType).length],
    ["pairs of plugins", new Set(between.map(({ path, to }) => `${findUnit(path)} ${findUnit(to)}`)).size],
    [
      "folders in the largest cycle",
      Math.max(0, ...findCycles(unitEdges(product)).map((cycle) => cycle.length)),
    ],
    ...broken,
  ]);
}

/** The shell of the commands and the library are none. */
function isPlugin(path: string): boolean {
  return path.startsWith("plugins/") && !/^plugins\/(cli|lib|_)/.test(path);
}

function lineCount(files: readonly SourceFile[]): number {
  return files.reduce((sum, { lines }) => sum + lines, 0);
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;
}
