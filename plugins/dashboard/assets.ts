import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { extname } from "node:path";
import { type Asset, pageAssets } from "../../playground/assets.ts";

/** What both pages look like and are made with. */
const shared = ["base.css", "dom.js", "theme.js", "icon.svg", "uplot.js", "uplot.css"];

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
};

/** Every file that the dashboard consists of, by its name. There is nothing else that could be asked for. */
export async function dashboardAssets(): Promise<ReadonlyMap<string, Asset>> {
  const assets = new Map<string, Asset>();
  const others = await pageAssets();
  for (const name of shared) {
    const asset = others.get(`/${name}`);
    if (asset) assets.set(name, asset);
  }
  const folder = pageFolder();
  for (const name of await readdir(folder)) {
    const type = types[extname(name)];
    if (type !== undefined) assets.set(name, { type, read: () => readFile(new URL(name, folder)) });
  }
  return assets;
}

/** It is not built: it lies beside the sources, and three levels above what is built from them. */
function pageFolder(): URL {
  const beside = new URL("./page/", import.meta.url);
  return existsSync(beside) && extname(new URL(import.meta.url).pathname) === ".ts"
    ? beside
    : new URL("../../../plugins/dashboard/page/", import.meta.url);
}
