import { existsSync } from "node:fs";
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

/** A folder of this project that is not built: beside the sources, and two levels above what is built from them. */
export function projectFolder(name: string): URL {
  const beside = new URL(`./${name}/`, import.meta.url);
  return existsSync(beside) && extname(new URL(import.meta.url).pathname) === ".ts"
    ? beside
    : new URL(`../../playground/${name}/`, import.meta.url);
}

/** Every file that the page consists of, by its path. There is nothing else that could be asked for. */
export async function pageAssets(): Promise<ReadonlyMap<string, Asset>> {
  const folder = projectFolder("page");
  const assets = new Map<string, Asset>();
  const add = (path: string, file: URL): void => {
    const type = types[extname(file.pathname)];
    if (type !== undefined) assets.set(path, { type, read: () => readFile(file) });
  };
  for (const name of await readdir(folder))
    add(name === "index.html" ? "/" : `/${name}`, new URL(name, folder));
  const { resolve } = createRequire(import.meta.url);
  add("/uplot.js", pathToFileURL(resolve("uplot/dist/uPlot.esm.js")));
  add("/uplot.css", pathToFileURL(resolve("uplot/dist/uPlot.min.css")));
  return assets;
}
