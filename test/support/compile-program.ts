import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** Compiles a program in a folder against the sources of `toolpipe/anygpt`; returns the compiler's complaints. */
export async function compileProgram(folder: string, text: string): Promise<string> {
  const file = join(folder, "program.mts");
  await writeFile(file, text);
  const config = {
    extends: join(root, "tsconfig.json"),
    compilerOptions: {
      // The specifications are looser than this project.
      exactOptionalPropertyTypes: false,
      noUnusedLocals: false,
      noUnusedParameters: false,
      rootDir: "/",
      typeRoots: [join(root, "node_modules/@types")],
      paths: { "toolpipe/anygpt": [join(root, "presets/compat/mod.ts")] },
    },
    include: [file],
  };
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify(config));
  // The compiler is a program of its own: its API is not that of older versions.
  const run = promisify(execFile)(process.execPath, [
    join(root, "node_modules/typescript/bin/tsc"),
    "-p",
    folder,
  ]);
  return run.then(
    ({ stdout }) => stdout,
    (failed: { stdout: string }) => failed.stdout,
  );
}
