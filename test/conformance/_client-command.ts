import { existsSync } from "node:fs";
import { fromRoot } from "../bench/_root.ts";

/** How the client is started that the suite looks at: what was built of it on Node, the source on Deno. */
export function clientCommand(): readonly [string, ...string[]] {
  if ("Deno" in globalThis) return [process.execPath, "run", "-A", fromRoot("test/conformance/client.ts")];
  const files = ["build", "dist"].map((folder) => fromRoot(`${folder}/test/conformance/client.js`));
  const file = files.find((each) => existsSync(each));
  if (file === undefined) throw new Error('The client is not there: run "npm run build" first.');
  return [process.execPath, file];
}
