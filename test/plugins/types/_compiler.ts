import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Those of some types that the TypeScript compiler cannot parse, with what it says of them. */
export async function unparsable(types: readonly string[]): Promise<string[]> {
  const { default: compiler } = (await import(
    new URL("../../../node_modules/typescript/lib/getExePath.js", import.meta.url).href
  )) as { default: () => string };
  const folder = await mkdtemp(join(tmpdir(), "toolpipe-types-"));
  try {
    const file = join(folder, "types.ts");
    await writeFile(file, types.map((type, index) => `type T${index} = ${type};`).join("\n"));
    // Unchecked, it complains only of what is no TypeScript at all.
    const said = await new Promise<string>((resolve) => {
      execFile(
        compiler(),
        ["--ignoreConfig", "--noEmit", "--noCheck", "--pretty", "false", file],
        { maxBuffer: 1e8 },
        (_, text) => resolve(text),
      );
    });
    return said
      .split("\n")
      .filter((line) => line.includes("error"))
      .map((line) => `${line}: ${types[Number(/\((\d+),/.exec(line)?.[1]) - 1]}`);
  } finally {
    await rm(folder, { recursive: true });
  }
}
