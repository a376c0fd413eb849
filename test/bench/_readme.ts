import { readFileSync, writeFileSync } from "node:fs";
import { fromRoot } from "./_root.ts";

/** Matches the part of the README that a command makes, and names. */
export function findPart(name: string): RegExp {
  return new RegExp(`(?<=<!-- ${name}: [^\\n]*-->\\n\\n).*?(?=\\n\\n<!-- end -->)`, "s");
}

/** Puts a text in the place of such a part, if there is one. */
export function writePart(name: string, text: string): void {
  const file = fromRoot("README.md");
  const before = readFileSync(file, "utf8");
  writeFileSync(
    file,
    before.replace(findPart(name), () => text.trim()),
  );
}
