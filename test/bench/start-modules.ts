import { startObserved, withHome } from "./walk/observed-gateway.ts";

/** Prints our modules that a start of `toolpipe serve` loads until it has listed its tools. */
export async function startModules(): Promise<void> {
  const files = await loadedModules();
  process.stdout.write(`${files.map((file) => `${file}\n`).join("")}\n${files.length} modules\n`);
}

/** The modules of a second start, which knows the server's tools from the first. */
export async function loadedModules(): Promise<string[]> {
  return await withHome(async (home) => {
    const first = await startObserved(home);
    await first.call("listed and kept");
    await first.close();
    const second = await startObserved(home);
    try {
      return await second.ranFiles();
    } finally {
      await second.close();
    }
  });
}
