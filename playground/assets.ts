import { readdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { extname } from "node:path";
import { pathToFileURL } from "node:url";

/** A file of the page. */
export interface Asset {
  readonly type: string;
  read(): Promise<Uint8Array>;
}

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** A folder of the project that is not built, by its path. What is built lies one level deeper than the sources. */
export function projectFolder(path: string): URL {
  const isSource = extname(new URL(import.meta.url).pathname) === ".ts";
  return new URL(`${isSource ? "../" : "../../"}${path}/`, import.meta.url);
}

/** Every file that the page consists of, by its name. There is nothing else that could be asked for. */
export async function pageAssets(): Promise<ReadonlyMap<string, Asset>> {
  const { resolve } = createRequire(import.meta.url);
  return new Map([
    ...(await assetsIn(projectFolder("playground/page"))),
    ["uplot.js", assetAt(".js", pathToFileURL(resolve("uplot/dist/uPlot.esm.js")))],
    ["uplot.css", assetAt(".css", pathToFileURL(resolve("uplot/dist/uPlot.min.css")))],
  ]);
}

/** The files in a folder that a browser can do something with, by their names. */
export async function assetsIn(folder: URL): Promise<ReadonlyMap<string, Asset>> {
  const names = (await readdir(folder)).filter((name) => extname(name) in types);
  return new Map(names.map((name) => [name, assetAt(extname(name), new URL(name, folder))]));
}

function assetAt(ending: string, file: URL): Asset {
  return { type: types[ending] as string, read: () => readFile(file) };
}
