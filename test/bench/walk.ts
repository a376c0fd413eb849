import { startObserved, withHome } from "./walk/observed-gateway.ts";

const WARM_UP = 20;
const CALLS = 5;

/** Prints the source files that a warm `execute_tool` over stdio runs through. */
export async function walk(): Promise<void> {
  const files = await walkedFiles();
  process.stdout.write(`${files.map((file) => `${file}\n`).join("")}\n${files.length} files\n`);
}

/** The files with a function that runs in each of several calls; a timer that happens to fire is in some of them only. */
export async function walkedFiles(): Promise<string[]> {
  return await withHome(async (home) => {
    const gateway = await startObserved(home);
    try {
      for (let index = 0; index < WARM_UP; index++) await gateway.call(`warm ${index}`);
      // Work after a first call, such as caching a listing, is done then.
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      await gateway.ranFiles();
      let files: string[] | undefined;
      for (let index = 0; index < CALLS; index++) {
        await gateway.call(`measured ${index}`);
        const ran = await gateway.ranFiles();
        files = files?.filter((file) => ran.includes(file)) ?? ran;
      }
      return files ?? [];
    } finally {
      await gateway.close();
    }
  });
}
