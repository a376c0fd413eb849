// A process of its own that keeps a snapshot in a folder: node _snapshot-writer.mjs <folder>. It says a line for each
// time it has written, until it is killed.
import { fileURLToPath } from "node:url";

const [folder] = process.argv.slice(2);
const { createCache, fileStorage } = await load("../../../plugins/cache/mod.ts");
const { createSnapshot } = await load("../../../plugins/upstreams/snapshot.ts");

/** Node 20 cannot read TypeScript by itself. */
async function load(path) {
  const file = new URL(path, import.meta.url);
  if ("Deno" in globalThis) return import(file.href);
  const { createJiti } = await import("jiti");
  return createJiti(import.meta.url, { fsCache: false }).import(fileURLToPath(file));
}

const troubled = (cause) => {
  throw cause;
};
const snapshot = createSnapshot(
  createCache({ storage: await fileStorage(folder), onTrouble: troubled }),
  "shared",
);
for (let round = 0; ; round++) {
  const description = `${process.pid} ${round} `.repeat(8_000 + (round % 7) * 2_000);
  const tools = [{ name: "a", inputSchema: {}, description }];
  const listing = { tools, rejected: [], resources: [], resourceTemplates: [], prompts: [] };
  snapshot.set("server", { hash: "h", savedAt: Date.now(), info: { name: String(round) }, listing });
  await snapshot.flush();
  await new Promise((resolve) => process.stdout.write(`${process.pid}\n`, resolve));
}
