import { type Asset, assetsIn, pageAssets, projectFolder } from "../../playground/assets.ts";

/** What both pages look like and are made with. */
const shared = new Set([
  "always.css",
  "base.css",
  "frame.css",
  "chart-look.js",
  "dom.js",
  "theme.js",
  "icon.svg",
  "uplot.js",
  "uplot.css",
]);

/** Every file that the dashboard consists of, by its name. There is nothing else that could be asked for. */
export async function dashboardAssets(): Promise<ReadonlyMap<string, Asset>> {
  const others = [...(await pageAssets())].filter(([name]) => shared.has(name));
  return new Map([...others, ...(await assetsIn(projectFolder("plugins/dashboard/page")))]);
}
