import { readdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { extname } from "node:path";
import { pathToFileURL } from "node:url";

/** Headers of every page. Untrusted content is only ever set as text; even as markup it could load and run nothing. */
export const pageHeaders: Readonly<Record<string, string>> = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
  "cross-origin-resource-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "cache-control": "no-store",
};

/** File of a page. */
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

/** Returns a folder of the project that is not compiled. Compiled files lie one level deeper than the sources. */
export function projectFolder(path: string): URL {
  const isSource = extname(new URL(import.meta.url).pathname) === ".ts";
  return new URL(`${isSource ? "../../" : "../../../"}${path}/`, import.meta.url);
}

/** Lists the files of the playground by name; nothing else can be requested. */
export async function listPageAssets(): Promise<ReadonlyMap<string, Asset>> {
  const { resolve } = createRequire(import.meta.url);
  return new Map([
    ...(await listFolderAssets(projectFolder("playground/page"))),
    ["uplot.js", toAsset(".js", pathToFileURL(resolve("uplot/dist/uPlot.esm.js")))],
    ["uplot.css", toAsset(".css", pathToFileURL(resolve("uplot/dist/uPlot.min.css")))],
  ]);
}

/** Lists the files of a folder that a browser can load, by name. */
export async function listFolderAssets(folder: URL): Promise<ReadonlyMap<string, Asset>> {
  const names = (await readdir(folder)).filter((name) => extname(name) in types);
  return new Map(names.map((name) => [name, toAsset(extname(name), new URL(name, folder))]));
}

function toAsset(ending: string, file: URL): Asset {
  return { type: types[ending] as string, read: () => readFile(file) };
}
