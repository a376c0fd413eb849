import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const STRICT = ["--strict", "--noUncheckedIndexedAccess", "--target", "es2023"];

/** Those of some types that the TypeScript compiler cannot parse, with what it says of them. */
export async function unparsable(types: readonly string[]): Promise<string[]> {
  const source = types.map((type, index) => `type T${index} = ${type};`).join("\n");
  // Unchecked, it complains only of what is no TypeScript at all.
  const said = await complaints(source, ["--noCheck"]);
  return said.map((line) => `${line}: ${types[Number(/\((\d+),/.exec(line)?.[1]) - 1]}`);
}

/** Returns the errors of the TypeScript compiler, each with the beginning of its module. */
export async function findFaults(modules: readonly string[]): Promise<string[]> {
  let line = 1;
  const starts: number[] = [];
  const spaces = modules.map((text, index) => {
    starts.push(line);
    const space = `namespace N${index} {\n${text}\n}\n`;
    line += space.split("\n").length - 1;
    return space;
  });
  const said = await complaints(`${spaces.join("")}export {};\n`, STRICT);
  return said.map((fault) => {
    const at = Number(/\((\d+),/.exec(fault)?.[1]);
    const index = starts.findLastIndex((start) => start <= at);
    return `${fault}: line ${at - Number(starts[index])} of ${modules[index]?.slice(0, 3_000)}`;
  });
}

async function complaints(source: string, options: readonly string[]): Promise<string[]> {
  const { default: compiler } = (await import(
    new URL("../../node_modules/typescript/lib/getExePath.js", import.meta.url).href
  )) as { default: () => string };
  const folder = await mkdtemp(join(tmpdir(), "toolpipe-types-"));
  try {
    const file = join(folder, "types.ts");
    await writeFile(file, source);
    const said = await new Promise<string>((resolve) => {
      execFile(
        compiler(),
        ["--ignoreConfig", "--noEmit", "--pretty", "false", ...options, file],
        { maxBuffer: 1e8 },
        (_, text) => resolve(text),
      );
    });
    return said.split("\n").filter((line) => line.includes("error"));
  } finally {
    await rm(folder, { recursive: true });
  }
}
